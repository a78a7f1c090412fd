package uevents

import (
	"errors"

	"github.com/userevents/userevents-go/uevents/internal/abi"
	"github.com/userevents/userevents-go/uevents/internal/machine"
)

// Probe reports which way events take here, which generation of the kernel's interface there is, and
// where something is missing, what and why. It opens what
// [Open] with the same options would, registers nothing, and changes nothing.
func Probe(o *Options) *Report {
	b, t, err := openTransport(o)
	r := &Report{Err: err, Transport: t}
	if f, ok := b.(*abi.File); ok {
		r.ABI = ABI(f.ABI())
		r.DataFile = f.Path()
	}
	if err == nil {
		r.Err = b.Close()
	}
	for _, f := range machine.Read("/").Findings() {
		r.Findings = append(r.Findings, Finding(f))
	}
	if e, ok := errors.AsType[*Error](err); ok {
		r.Findings = append(r.Findings, Finding{What: "data file", Result: e.Name + ": " + e.Err.Error(), Remedy: e.Remedy})
	}
	return r
}
