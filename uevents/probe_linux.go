package uevents

import (
	"github.com/userevents/userevents-go/internal/abi"
	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/uevents/internal/machine"
)

// look adds what there is of the kernel's interface.
func (r *Report) look(b backend.Backend) {
	if f, ok := b.(*abi.File); ok {
		r.ABI = ABI(f.ABI())
		r.DataFile = f.Path()
	}
	for _, f := range machine.Read("/").Findings() {
		r.Findings = append(r.Findings, Finding(f))
	}
}
