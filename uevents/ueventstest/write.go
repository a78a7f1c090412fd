package ueventstest

import (
	"github.com/userevents/userevents-go/internal/backend/registry"
	"github.com/userevents/userevents-go/internal/errno"
)

// perfMaxPayload is what fits perf's scratch buffer of 8 KiB. A larger write succeeds, and perf does not record it.
const perfMaxPayload = 8184

// Write looks at the content only for a tool that has room, as the kernel does.
func (f *file) Write(buf []byte) error {
	e := f.At(buf)
	if e == nil {
		return f.Refused(buf)
	}
	probes := e.State.probes.Load()
	if probes == nil {
		return errno.EBADF
	}
	return f.k.record(e, *probes, buf[registry.IndexSize:])
}

// record gives a copy of the payload to each tool.
func (k *Kernel) record(e *event, probes []probe, payload []byte) error {
	// The kernel looks at the content once for each tool, with the same result.
	valid := e.Valid(payload) && (k.page == nil || len(payload) > 0)
	k.recording.Lock()
	defer k.recording.Unlock()
	var s stamp
	for _, p := range probes {
		switch {
		case p.tool.detached:
		case len(payload) > p.tool.kind.maxPayload():
			p.tool.oversized++
		case !valid:
			return errno.EFAULT
		default:
			if s.seq == 0 {
				s = k.stamp()
			}
			p.tool.keep(s, p.slot, payload)
		}
	}
	return nil
}
