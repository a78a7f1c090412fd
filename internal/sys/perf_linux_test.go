package sys

import (
	"encoding/binary"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

// newRing returns a ring of 64 bytes without a kernel behind it.
func newRing(head, tail uint64) *PerfRing {
	r := &PerfRing{data: make([]byte, 64), head: new(atomic.Uint64), tail: new(atomic.Uint64)}
	r.head.Store(head)
	r.tail.Store(tail)
	return r
}

// put writes a record at a position, as the kernel does: struct perf_event_header
// { u32 type; u16 misc; u16 size; } and a body.
func (r *PerfRing) put(pos uint64, kind uint32, size uint16, body string) {
	b := binary.NativeEndian.AppendUint32(nil, kind)
	b = binary.NativeEndian.AppendUint16(b, 0)
	b = binary.NativeEndian.AppendUint16(b, size)
	for i, c := range append(b, body...) {
		r.data[(pos+uint64(i))%64] = c
	}
}

func TestPerfRing(t *testing.T) {
	type record struct {
		kind uint32
		body string
	}
	for _, c := range []struct {
		name string
		ring func() *PerfRing
		want []record
	}{
		{"empty", func() *PerfRing { return newRing(1000, 1000) }, nil},
		{"two", func() *PerfRing {
			r := newRing(32, 0)
			r.put(0, 9, 16, "12345678")
			r.put(16, 2, 16, "abcdefgh")
			return r
		}, []record{{9, "12345678"}, {2, "abcdefgh"}}},
		{"body around the end", func() *PerfRing {
			r := newRing(64+16, 48)
			r.put(48, 9, 32, "123456781234567812345678")
			return r
		}, []record{{9, "123456781234567812345678"}}},
		{"header at the end", func() *PerfRing {
			r := newRing(64*5+8, 64*5-8)
			r.put(64*5-8, 9, 16, "12345678")
			return r
		}, []record{{9, "12345678"}}},
		{"no body", func() *PerfRing {
			r := newRing(8, 0)
			r.put(0, 9, 8, "")
			return r
		}, []record{{9, ""}}},
		{"longer than what is there", func() *PerfRing {
			r := newRing(32, 0)
			r.put(0, 9, 16, "12345678")
			r.put(16, 9, 64, "")
			return r
		}, []record{{9, "12345678"}}},
		{"shorter than a header", func() *PerfRing {
			r := newRing(16, 0)
			r.put(0, 9, 0, "12345678")
			return r
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.ring()
			var got []record
			read := func() {
				r.Read(func(kind uint32, body []byte) { got = append(got, record{kind, string(body)}) })
			}
			read()
			assert.Equal(t, c.want, got)
			assert.Equal(t, r.head.Load(), r.tail.Load(), "the kernel may overwrite what was read")
			read()
			assert.Equal(t, c.want, got, "and nothing comes twice")
		})
	}
}
