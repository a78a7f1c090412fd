package uevents

import (
	"errors"
	"fmt"
	"strings"
)

// Report says what a machine offers.
type Report struct {
	// Err is nil if this program can register and write events; the package documentation
	// says how to test it.
	Err error
	// Transport is the way that events of [Open] with the same options take, [TransportOff] if there is none.
	Transport Transport
	// ABI is the generation of the kernel's interface, [ABIUnknown] if there is none or it could not
	// be told, or events take another way.
	ABI ABI
	// DataFile is the file that [Open] uses, "" if there is none.
	DataFile string
	// Findings are what was looked at, in an order for people to read.
	Findings []Finding
}

// Probe reports which way events take here, which generation of the kernel's interface there is, and
// where something is missing, what and why. It opens what
// [Open] with the same options would, registers nothing, and changes nothing.
func Probe(o *Options) *Report {
	b, t, err := openTransport(o)
	r := &Report{Err: err, Transport: t}
	r.look(b)
	if err == nil {
		r.Err = b.Close()
	}
	if m, ok := b.(interface{ Dir() string }); ok && m.Dir() != "" {
		r.Findings = append(r.Findings, Finding{What: "shared memory", Result: "in files of " + m.Dir() + ", which other programs of this user can cut off"})
	}
	var e *Error
	if errors.As(err, &e) {
		r.Findings = append(r.Findings, Finding{What: "data file", Result: e.Name + ": " + e.Err.Error(), Remedy: e.Remedy})
	}
	return r
}

func (r *Report) details() string {
	if r.Transport == TransportKernel {
		return fmt.Sprintf(" (%s, %s)", r.ABI, r.DataFile)
	}
	return ""
}

// Finding is one thing that was looked at.
type Finding struct {
	What   string // such as "tracefs"
	Result string // what was found
	Remedy string // what to do if that is a problem, else ""
}

// String returns the report as lines of text.
func (r *Report) String() string {
	var b strings.Builder
	if r.Err == nil {
		fmt.Fprintf(&b, "events: %s%s\n", r.Transport, r.details())
	} else {
		fmt.Fprintf(&b, "events: %v\n", r.Err)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "  %-14s %s\n", f.What+":", f.Result)
		if f.Remedy != "" {
			fmt.Fprintf(&b, "  %-14s -> %s\n", "", f.Remedy)
		}
	}
	return b.String()
}
