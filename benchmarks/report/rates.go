package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/userevents/userevents-go/benchmarks/internal/figures"
)

// commands are the rows of the table of the command at full rate, by their benchmarks.
var commands = []struct{ figure, what string }{
	{"watch-json", "`uevents watch -o json`"},
	{"record-jsonl", "`uevents record`, JSON lines"},
}

// rates returns a row for each command that read records which a program wrote at full rate.
func rates(run *figures.Run) (string, error) {
	var b strings.Builder
	for _, c := range commands {
		f, err := find(run, "cmd/uevents/internal/cli:FullRate/"+c.figure)
		if err != nil {
			return "", err
		}
		lost := f.Others["lost-records"]
		total := time.Duration(f.Cost * (float64(f.Calls) - lost))
		row(&b, []string{
			c.what, thousands(float64(f.Calls) - lost), thousands(lost),
			fmt.Sprintf("%.1f s", total.Seconds()), thousands(f.Cost/1000) + " us", fmt.Sprintf("%.0f MiB", f.Others["max-resident-bytes"]/(1<<20)),
		})
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
