package perf

import (
	"bytes"
	"encoding/binary"

	"github.com/userevents/userevents-go/internal/live"
)

// Types of records in a ring: enum perf_event_type, and a bit of perf_event_header.misc.
const (
	typeLost   = 2
	typeComm   = 3
	typeExit   = 4
	typeFork   = 7
	typeSample = 9
	typeCgroup = 19

	miscCommExec = 1 << 13
)

const (
	headerSize   = 8
	trailerSize  = 24 // u32 pid, tid; u64 time; u64 id
	sampleFields = 24 // u64 id; u32 pid, tid; u64 time
)

var order = binary.NativeEndian

// raw is one record of a ring, header included. The header has its size.
type raw []byte

func (b raw) kind() uint32 { return order.Uint32(b) }

// valid reports whether the record is long enough for id and time.
func (b raw) valid() bool {
	if b.kind() == typeSample {
		return len(b) >= headerSize+sampleFields+4
	}
	return len(b) >= headerSize+trailerSize
}

func (b raw) id() uint64 {
	if b.kind() == typeSample {
		return order.Uint64(b[headerSize:])
	}
	return order.Uint64(b[len(b)-8:])
}

// identity returns the 16 bytes of pid, tid and time: at the start of samples, at the end of other records.
func (b raw) identity() []byte {
	if b.kind() == typeSample {
		return b[headerSize+8:]
	}
	return b[len(b)-trailerSize:]
}

// time returns CLOCK_MONOTONIC in nanoseconds.
func (b raw) time() uint64 { return order.Uint64(b.identity()[8:]) }

// decode sets a record except Time, CPU and Tag. It returns false if the record is too short for its kind.
func (b raw) decode(o *Options, r *live.Record) bool {
	who := b.identity()
	// Not as a composite literal, which would be made elsewhere and copied.
	r.PID, r.TID, r.ParentPID, r.ParentTID = int32(order.Uint32(who)), int32(order.Uint32(who[4:])), 0, 0
	r.Monotonic, r.CgroupID = order.Uint64(who[8:]), 0
	r.Kind, r.Comm, r.CgroupPath, r.Tag, r.Callchain, r.Raw = 0, nil, nil, nil, r.Callchain[:0], nil
	body := b[headerSize:]
	switch b.kind() {
	case typeSample:
		r.Kind = live.Sample
		return body[sampleFields:].decodeSample(o, r)
	case typeComm: // u32 pid, tid; char comm[]
		body = body[:len(body)-trailerSize]
		if len(body) < 8 {
			return false
		}
		r.Kind = live.Comm
		if order.Uint16(b[4:])&miscCommExec != 0 {
			r.Kind = live.Exec
		}
		r.PID, r.TID = int32(order.Uint32(body)), int32(order.Uint32(body[4:]))
		r.Comm, _, _ = bytes.Cut(body[8:], []byte{0})
	case typeFork, typeExit: // u32 pid, ppid, tid, ptid; u64 time
		if len(body) < 24+trailerSize {
			return false
		}
		r.Kind = live.Fork
		if b.kind() == typeExit {
			r.Kind = live.Exit
		}
		word := func(i int) int32 { return int32(order.Uint32(body[4*i:])) }
		r.PID, r.ParentPID, r.TID, r.ParentTID = word(0), word(1), word(2), word(3)
	case typeCgroup: // u64 id; char path[]
		body = body[:len(body)-trailerSize]
		if len(body) < 8 {
			return false
		}
		r.Kind, r.CgroupID = live.Cgroup, order.Uint64(body)
		r.CgroupPath, _, _ = bytes.Cut(body[8:], []byte{0})
	default:
		return false
	}
	return true
}

func (b raw) decodeSample(o *Options, r *live.Record) bool {
	if o.Callchain {
		if len(b) < 8 {
			return false
		}
		n := order.Uint64(b)
		b = b[8:]
		if n > uint64(len(b)/8) {
			return false
		}
		for i := range int(n) {
			// Values from PERF_CONTEXT_MAX up mark the context of the addresses that follow.
			if ip := order.Uint64(b[8*i:]); ip < ^uint64(4094) {
				r.Callchain = append(r.Callchain, ip)
			}
		}
		b = b[8*n:]
	}
	if len(b) < 4 {
		return false
	}
	size := uint64(order.Uint32(b))
	b = b[4:]
	if size > uint64(len(b)) {
		return false
	}
	r.Raw, b = b[:size:size], b[size:]
	if o.CgroupID {
		if len(b) < 8 {
			return false
		}
		r.CgroupID = order.Uint64(b)
	}
	return true
}
