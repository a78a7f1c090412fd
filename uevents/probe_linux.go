package uevents

import (
	"errors"

	"github.com/userevents/userevents-go/uevents/internal/machine"
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
		r.Err = f.Close()
	}
	for _, f := range machine.Read("/").Findings() {
		r.Findings = append(r.Findings, Finding(f))
	}
	if e, ok := errors.AsType[*Error](err); ok {
		r.Findings = append(r.Findings, Finding{What: "data file", Result: e.Name + ": " + e.Err.Error(), Remedy: e.Remedy})
	}
	return r
}
