package typed

import (
	"math"
	"slices"
	"strconv"

	"github.com/userevents/userevents-go/tracepoint"
)

// plan is what a [Plan] consists of, whatever its type parameter.
type plan struct {
	layout  *Layout
	empty   uintptr // length of a payload in which all texts and arrays are empty but ids, which have a fixed size
	numbers []number
	strings []stringField
	others  []step
	cutAt   int // offset of the field of type Cut, or -1

	// A limit l is for the fast path if l-low, unsigned, is not above span. If there is
	// more to write than numbers and strings, no limit is.
	low  int
	span uint
}

// step writes a field that is neither a number to be copied nor a string.
type step struct {
	code  opcode
	field uintptr // offset in the struct
	at    int     // offset in the payload
	text  int     // offset in the payload of the text of an id
	elem  int     // size of an array's elements in bytes
	n     int     // size of an array or an id in bytes, or a scale
}

// opcode says what a field is, and what to do with it.
type opcode uint8

const (
	opCopy8 opcode = iota
	opCopy16
	opCopy32
	opCopy64
	opString
	opCut
	opInt8
	opInt16
	opInt
	opUint
	opTime
	opScale32
	opScale64
	opHexArray
	opUUID
	opTextBytes // this one and all that follow write behind the fixed part
	opHexSlice
	opFloat32
	opFloat64
	opAddr
	opAddrPort
	opPrefix
	opIP
	opSlice
	opArray
)

// newPlan sorts the steps by how they are carried out.
func newPlan(l *Layout, steps []step) plan {
	p := plan{layout: l, cutAt: -1}
	empty := l.fixed
	for i, s := range steps {
		s.at = l.offsets[i]
		if size := s.idSize(); size > 0 {
			s.text = empty
			empty += size
		}
		if strconv.IntSize == 64 && (s.code == opInt || s.code == opUint) {
			s.code = opCopy64
		}
		switch s.code {
		case opCopy8, opCopy16, opCopy32, opCopy64:
			p.numbers = append(p.numbers, number{field: s.field, at: uintptr(s.at), size: 1 << s.code})
		case opString:
			p.strings = append(p.strings, stringField{field: s.field, at: uintptr(s.at)})
		case opCut:
			p.cutAt = s.at
		default:
			p.others = append(p.others, s)
		}
	}
	p.empty, p.low, p.span = uintptr(empty), empty, uint(MaxLimit-empty)
	if len(p.others) > 0 || p.cutAt >= 0 {
		p.low, p.span = math.MaxInt, 0
	}
	return p
}

// idSize returns the bytes that the text of an id takes, or 0 for another field.
func (s *step) idSize() int {
	switch s.code {
	case opHexArray:
		return 2*s.n + 1
	case opUUID:
		return uuidSize
	}
	return 0
}

// append is [Plan.Append].
func (p *plan) append(dst []byte, v pointer, limit int) (out []byte, cut int) {
	end := -1
	if uint(limit-p.low) <= p.span && limit <= cap(dst)-len(dst) {
		if end = p.fast(dst, v, limit); end > 0 {
			return dst[:len(dst)+end], 0
		}
	}
	return p.general(dst, v, limit, end)
}

// general appends any payload. End is what fast returned, or negative if it has not run.
func (p *plan) general(dst []byte, v pointer, limit, end int) (out []byte, cut int) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit = min(max(limit, int(p.empty)), MaxLimit)
	start := len(dst)
	dst = slices.Grow(dst, limit)
	if end < 0 {
		end = p.fast(dst, v, limit)
	}
	w := writer{b: dst[start : start+limit : start+limit], end: end, share: limit}
	if end == 0 {
		p.writeStrings(&w, v)
	}
	p.writeOthers(&w, v)
	if w.cut > 0 {
		w.share = p.fairShare(w, v)
		w.cut = 0
		p.writeStrings(&w, v)
		p.writeOthers(&w, v)
	}
	if p.cutAt >= 0 {
		PutU32(w.b, p.cutAt, uint32(w.cut))
	}
	return dst[:start+w.end], w.cut
}

// writeStrings writes all strings, behind the fixed part and the ids.
func (p *plan) writeStrings(w *writer, v pointer) {
	w.end = int(p.empty)
	for i := range p.strings {
		f := &p.strings[i]
		w.text(int(f.at), f.read(v))
	}
}

func (p *plan) writeOthers(w *writer, v pointer) {
	for i := range p.others {
		p.others[i].write(w, v)
	}
}

// maxDynamic is how many dynamic fields a declaration can have at most.
const maxDynamic = (tracepoint.MaxCommand + len("; ")) / len("__data_loc u8[] a; ")

// fairShare returns the largest share with which all dynamic fields fit into
// w.b. It finds out how long each of them is by writing it.
func (p *plan) fairShare(w writer, v pointer) int {
	var lengths [maxDynamic]int
	n, empty := 0, int(p.empty)
	room := len(w.b) - empty
	measure := func(isText bool) {
		lengths[n] = w.end - empty
		if isText && lengths[n] > 0 {
			lengths[n]-- // its NUL is not part of the share
			room--
		}
		n++
		w.end = empty
	}
	w.end = empty
	for i := range p.strings {
		f := &p.strings[i]
		w.text(int(f.at), f.read(v))
		measure(true)
	}
	for i := range p.others {
		if s := &p.others[i]; s.code >= opTextBytes {
			s.write(&w, v)
			measure(s.code < opSlice)
		}
	}

	low, high := 0, max(0, room) // low fits, more than high does not
	for low < high {
		share := (low + high + 1) / 2
		sum := 0
		for _, length := range lengths[:n] {
			sum += min(length, share)
		}
		if sum <= room {
			low = share
		} else {
			high = share - 1
		}
	}
	return low
}
