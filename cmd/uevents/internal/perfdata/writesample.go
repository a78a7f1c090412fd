package perfdata

import (
	"slices"

	"github.com/userevents/userevents-go/reader"
)

// sample adds a record of an event.
func (w *Writer) sample(e *event, ev *reader.Event) {
	ip := uint64(0)
	if len(ev.Callchain) > 0 {
		ip = ev.Callchain[0]
	}
	start := len(w.buf)
	b := slices.Grow(w.buf, sampleSize)[:start+sampleSize]
	fixed := (*[sampleSize]byte)(b[start:])
	order.PutUint32(fixed[0:], typeSample)
	order.PutUint32(fixed[4:], miscUser) // misc, and the size, which follows
	order.PutUint64(fixed[8:], e.id)
	order.PutUint64(fixed[16:], ip)
	order.PutUint32(fixed[24:], uint32(ev.PID))
	order.PutUint32(fixed[28:], uint32(threadOf(ev)))
	order.PutUint64(fixed[32:], ev.Monotonic)
	order.PutUint64(fixed[40:], uint64(uint32(ev.CPU))) // u32 cpu, reserved
	order.PutUint64(fixed[48:], 1)                      // the period: each record is one event
	if w.o.Callchain {
		b = order.AppendUint64(b, uint64(len(ev.Callchain)+1))
		b = order.AppendUint64(b, contextUser)
		for _, addr := range ev.Callchain {
			b = order.AppendUint64(b, addr)
		}
	}
	padding := -(4 + len(ev.Raw)) & 7
	b = order.AppendUint32(b, uint32(len(ev.Raw)+padding))
	b = append(append(b, ev.Raw...), zeros[:padding]...)
	if e.number != int(e.key.number) {
		order.PutUint16(b[len(b)-padding-len(ev.Raw):], uint16(e.number))
	}
	if w.o.CgroupID {
		b = order.AppendUint64(b, ev.CgroupID)
	}
	order.PutUint16(b[start+6:], uint16(len(b)-start))
	w.buf = b
}

// sampleSize is the size of a record of an event without its stack and its bytes.
const sampleSize = 56

var zeros [8]byte
