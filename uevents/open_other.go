//go:build !linux

package uevents

import (
	"fmt"
	"runtime"

	"github.com/userevents/userevents-go/internal/backend"
)

var errOS = fmt.Errorf("%w on %s", ErrNotSupported, runtime.GOOS)

// openKernel fails: this system has no user events.
func openKernel(*Options) (backend.Backend, error) {
	return nil, &Error{Op: "open", Err: errOS, Remedy: "use package ueventstest to run without a kernel"}
}

func namesKernel(o *Options) bool { return o != nil && (o.File != nil || o.Path != "") }

func (r *Report) look(backend.Backend) {
	r.Findings = []Finding{{What: "system", Result: runtime.GOOS + " " + runtime.GOARCH}}
}
