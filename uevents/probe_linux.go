package uevents

import (
	"errors"
	"fmt"
	"strings"

	"github.com/userevents/userevents-go/internal/sys"
)

// Probe reports what this machine supports, which generation of the interface it has, and
// where something is missing, what and why. It opens the data file as
// [Open] with the same options would, registers nothing, and changes nothing.
func Probe(o *Options) *Report {
	f, err := openFile(o)
	r := &Report{Err: err}
	if err == nil {
		r.ABI = ABI(f.ABI())
		r.DataFile = f.Path()
		r.Err = f.Discard()
	}
	r.Findings = readFacts("/").findings()
	var e *Error
	if errors.As(err, &e) {
		r.Findings = append(r.Findings, Finding{What: "data file", Result: e.Name + ": " + e.Err.Error(), Remedy: e.Remedy})
	}
	return r
}

func (f *facts) findings() []Finding {
	config := "unknown: no configuration of this kernel is readable here"
	if f.config != "" {
		config = fmt.Sprintf("CONFIG_USER_EVENTS=%s (%s)", f.config, f.configFile)
	}
	var points []string
	for _, m := range f.mounts {
		if file, ok := m.DataFile(); ok {
			points = append(points, fmt.Sprintf("%s (%s)", file, m.Options))
		}
	}
	perfmon := "no: events can't be made persistent, and perf may be restricted"
	if has, err := sys.HasCapPerfmon(); err != nil {
		perfmon = "unknown: " + err.Error()
	} else if has {
		perfmon = "yes"
	}
	return []Finding{
		{What: "kernel", Result: f.release + " " + f.machine},
		{What: "configuration", Result: config},
		{What: "mounts", Result: orNone(strings.Join(points, ", "))},
		{What: "lockdown", Result: orNone(f.lockdown)},
		{What: "AppArmor", Result: orNone(f.appArmor)},
		{What: "CAP_PERFMON", Result: perfmon},
		{What: "events at most", Result: orNone(f.maxEvents)},
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
