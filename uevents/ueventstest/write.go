package ueventstest

import (
	"encoding/binary"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
)

// perfMaxPayload is what fits perf's scratch buffer of 8 KiB. A larger write succeeds, and perf does not record it.
const perfMaxPayload = 8184

const indexSize = 4

// Write answers in the kernel's order: the index first, then the size, then whether the event is
// enabled, and only for a tool that has room the content.
func (f *file) Write(buf []byte) error {
	refs := f.refs.Load()
	if refs == nil {
		return errno.EBADF
	}
	if len(buf) < indexSize {
		return errno.EFAULT
	}
	index := int32(binary.NativeEndian.Uint32(buf))
	if index < 0 {
		return errno.EINVAL
	}
	if int(index) >= len(*refs) {
		return errno.ENOENT
	}
	e := (*refs)[index]
	payload := buf[indexSize:]
	if len(payload) < e.decl.FixedSize() {
		return errno.EINVAL
	}
	probes := e.probes.Load()
	if probes == nil {
		return errno.EBADF
	}
	return f.k.record(e, *probes, payload)
}

// record gives a copy of the payload to each tool.
func (k *Kernel) record(e *event, probes []probe, payload []byte) error {
	// The kernel looks at the content once for each tool, with the same result.
	valid := validate(e.decl.Fields, payload) && (k.page == nil || len(payload) > 0)
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

// validate checks the locations of dynamic fields: their end must lie inside the record
// and, for text, behind a NUL. The kernel does not check their beginning.
func validate(fields []tracepoint.Field, payload []byte) bool {
	at := 0
	for _, f := range fields {
		start := at
		at += f.Type.FixedSize()
		if f.Type.Location == tracepoint.Fixed {
			continue
		}
		word := binary.NativeEndian.Uint32(payload[start:])
		end := int(word&0xffff) + int(word>>16)
		if f.Type.Location == tracepoint.RelLoc {
			end += at
		} else {
			end -= tracepoint.CommonSize
		}
		if end > len(payload) {
			return false
		}
		// A text that ends in the common fields, or before, depends on bytes which no
		// program knows.
		isText := f.Type.Kind == tracepoint.Char || f.Type.Kind == tracepoint.UChar
		if isText && (end <= 0 || payload[end-1] != 0) {
			return false
		}
	}
	return true
}
