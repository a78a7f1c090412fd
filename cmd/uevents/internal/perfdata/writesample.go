package perfdata

import (
	"slices"

	"github.com/userevents/userevents-go/reader"
)

// sample adds a record of an event.
func (w *Writer) sample(e *event, ev *reader.Event, tid int32) {
	size := sampleSize + (4+len(ev.Raw)+7)&^7
	if w.o.Callchain {
		size += 8 * (2 + len(ev.Callchain))
	}
	if w.o.CgroupID {
		size += 8
	}
	start := len(w.buf)
	w.buf = slices.Grow(w.buf, size)[:start+size]
	b := w.buf[start:]
	ip := uint64(0)
	if len(ev.Callchain) > 0 {
		ip = ev.Callchain[0]
	}
	fixed := (*[sampleSize]byte)(b)
	order.PutUint32(fixed[0:], typeSample)
	order.PutUint16(fixed[4:], miscUser)
	order.PutUint16(fixed[6:], uint16(size))
	order.PutUint64(fixed[8:], e.id)
	order.PutUint64(fixed[16:], ip)
	order.PutUint32(fixed[24:], uint32(ev.PID))
	order.PutUint32(fixed[28:], uint32(tid))
	order.PutUint64(fixed[32:], ev.Monotonic)
	order.PutUint64(fixed[40:], uint64(uint32(ev.CPU))) // u32 cpu, reserved
	order.PutUint64(fixed[48:], 1)                      // the period: each record is one event
	b = b[sampleSize:]
	if w.o.Callchain {
		order.PutUint64(b, uint64(len(ev.Callchain)+1))
		order.PutUint64(b[8:], contextUser)
		for i, addr := range ev.Callchain {
			order.PutUint64(b[16+8*i:], addr)
		}
		b = b[8*(2+len(ev.Callchain)):]
	}
	if w.o.CgroupID {
		order.PutUint64(b[len(b)-8:], ev.CgroupID)
		b = b[:len(b)-8]
	}
	order.PutUint64(b[len(b)-8:], 0) // the padding, which the end of the bytes precedes
	order.PutUint32(b, uint32(len(b)-4))
	copy(b[4:], ev.Raw)
	if e.number != int(e.key.number) {
		order.PutUint16(b[4:], uint16(e.number))
	}
}

// sampleSize is the size of a record of an event without its stack and its bytes.
const sampleSize = 56
