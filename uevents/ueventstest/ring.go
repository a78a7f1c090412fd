package ueventstest

import (
	"encoding/binary"
	"time"
)

type stamp struct {
	seq   uint64
	nanos int64 // since 1970
}

// stamp is called with k.recording held.
func (k *Kernel) stamp() stamp {
	k.seq++
	return stamp{seq: k.seq, nanos: time.Now().UnixNano()}
}

// header stands before each payload in a ring.
type header struct {
	stamp
	slot   uint32 // which of the tool's events
	length uint32 // of the payload
}

const headerSize = 24

// ring is a buffer of records, of a fixed size, which are taken out in the order they came
// in. Keeping a record allocates nothing.
type ring struct {
	buf   []byte
	start int // of the oldest record
	used  int
}

func (r *ring) fits(payload int) bool { return headerSize+payload <= len(r.buf)-r.used }

func (r *ring) push(h header, payload []byte) {
	var b [headerSize]byte
	binary.NativeEndian.PutUint64(b[0:], h.seq)
	binary.NativeEndian.PutUint64(b[8:], uint64(h.nanos))
	binary.NativeEndian.PutUint32(b[16:], h.slot)
	binary.NativeEndian.PutUint32(b[20:], h.length)
	r.put(b[:])
	r.put(payload)
}

func (r *ring) put(p []byte) {
	at := (r.start + r.used) % len(r.buf)
	n := copy(r.buf[at:], p)
	copy(r.buf, p[n:])
	r.used += len(p)
}

// get takes len(p) bytes out.
func (r *ring) get(p []byte) {
	n := copy(p, r.buf[r.start:])
	copy(p[n:], r.buf)
	r.skip(len(p))
}

func (r *ring) skip(n int) {
	r.start = (r.start + n) % len(r.buf)
	r.used -= n
}

func (r *ring) next() (h header, ok bool) {
	if r.used == 0 {
		return h, false
	}
	var b [headerSize]byte
	r.get(b[:])
	h.seq = binary.NativeEndian.Uint64(b[0:])
	h.nanos = int64(binary.NativeEndian.Uint64(b[8:]))
	h.slot = binary.NativeEndian.Uint32(b[16:])
	h.length = binary.NativeEndian.Uint32(b[20:])
	return h, true
}

func (r *ring) pop() (h header, payload []byte, ok bool) {
	if h, ok = r.next(); ok {
		payload = make([]byte, h.length)
		r.get(payload)
	}
	return h, payload, ok
}

// drop throws the oldest record away.
func (r *ring) drop() bool {
	h, ok := r.next()
	if ok {
		r.skip(int(h.length))
	}
	return ok
}
