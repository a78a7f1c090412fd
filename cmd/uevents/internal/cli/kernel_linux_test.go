package cli

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// TestKernelScripts: the command reads programs on a real kernel, as a person would drive it.
func TestKernelScripts(t *testing.T) {
	fs := kerneltest.RequireTool(t, "script")
	testscript.Run(t, testscript.Params{
		Dir: "testdata/kernel", RequireExplicitExec: true,
		Deadline: time.Now().Add(4 * time.Minute),
		Setup: func(env *testscript.Env) error {
			env.Setenv("TRACEFS", fs.Path())
			for _, name := range []string{testscale.EnvVM, kerneltest.EnvHostTests} { // programs may register events
				env.Setenv(name, os.Getenv(name))
			}
			return nil
		},
		Condition: func(condition string) (bool, error) {
			if condition != "keeps-events" {
				return false, fmt.Errorf("unknown condition %q", condition)
			}
			return uevents.Probe(nil).ABI != uevents.ABIEnableAddress, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"sums": sums, "unused": unused},
	})
}

var numbers = regexp.MustCompile(`[\d,]+`)

// sums fails unless the summary on standard error adds up: matched is the sum of all else, and not 0.
func sums(ts *testscript.TestScript, _ bool, _ []string) {
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		if !strings.Contains(line, " matched = ") {
			continue
		}
		counts, _, _ := strings.Cut(line, ";")
		sum := -1
		for _, s := range numbers.FindAllString(counts, -1) {
			n, err := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
			ts.Check(err)
			if sum < 0 {
				sum = n
				if n == 0 {
					ts.Fatalf("nothing matched: %s", line)
				}
				continue
			}
			sum -= n
		}
		if sum != 0 {
			ts.Fatalf("%d records are missing: %s", sum, line)
		}
		return
	}
	ts.Fatalf("there is no summary")
}

// unused fails if a tool is attached to an event.
func unused(ts *testscript.TestScript, _ bool, args []string) {
	for line := range strings.Lines(ts.ReadFile(ts.Getenv("TRACEFS") + "/user_events_status")) {
		if strings.Contains(line, args[0]) && strings.Contains(line, "Used by") {
			ts.Fatalf("a tool is attached: %s", line)
		}
	}
}
