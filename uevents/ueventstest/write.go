package ueventstest

import (
	"encoding/binary"

	"github.com/userevents/userevents-go/internal/errno"
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
	if uint64(len(payload)) < e.minSize {
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
	valid := (!e.dynamic || validate(e.fields, payload)) && (k.page == nil || len(payload) > 0)
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
func validate(fields []field, payload []byte) bool {
	end := int64(commonFields + len(payload))
	for _, f := range fields {
		if !f.dynamic() {
			continue
		}
		// Sizes that wrapped around move a location out of the record. The kernel does not
		// look.
		at := int64(int32(f.offset))
		if at < commonFields || at+4 > end {
			return false
		}
		loc := binary.NativeEndian.Uint32(payload[at-commonFields:])
		pos := int64(loc&0xffff) + int64(loc>>16)
		if f.relative() {
			pos += at + 4
		}
		if pos > end {
			return false
		}
		// A text that ends in the common fields, or before, depends on bytes which no
		// program knows.
		if f.text() && (pos <= commonFields || payload[pos-1-commonFields] != 0) {
			return false
		}
	}
	return true
}
