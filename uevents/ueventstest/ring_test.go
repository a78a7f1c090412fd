package ueventstest

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRingAgainstSlice drives a ring and a slice of the same records through random
// operations.
func TestRingAgainstSlice(t *testing.T) {
	type record struct {
		header
		payload []byte
	}
	for _, size := range []int{1, headerSize, headerSize + 1, 100, 257, 4096} {
		rng := rand.New(rand.NewPCG(1, uint64(size)))
		r := ring{buf: make([]byte, size)}
		var want []record
		used := 0
		for i := range 5000 {
			switch rng.IntN(5) {
			case 0, 1, 2:
				payload := bytes.Repeat([]byte{byte(i)}, rng.IntN(60))
				fits := used+headerSize+len(payload) <= size
				require.Equal(t, fits, r.fits(len(payload)))
				if fits {
					h := header{stamp{uint64(i), -int64(i)}, uint32(i), uint32(len(payload))}
					r.push(h, payload)
					want = append(want, record{h, payload})
					used += headerSize + len(payload)
				}
			case 3:
				h, payload, ok := r.pop()
				require.Equal(t, len(want) > 0, ok)
				if ok {
					require.Equal(t, want[0], record{h, payload})
					used -= headerSize + len(payload)
					want = want[1:]
				}
			case 4:
				require.Equal(t, len(want) > 0, r.drop())
				if len(want) > 0 {
					used -= headerSize + len(want[0].payload)
					want = want[1:]
				}
			}
			require.Equal(t, used, r.used)
		}
	}
}

func TestFullBuffers(t *testing.T) {
	const payload = 8
	tests := []struct {
		name string
		kind Kind
		want []byte // first byte of each payload
	}{
		{"ftrace overwrites the oldest", Ftrace, []byte{7, 8, 9}},
		{"perf drops the newest", Perf, []byte{0, 1, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := NewKernel(&Options{BufferSize: 3 * (headerSize + payload)})
			f := k.open()
			mustRegister(t, f, "ev")
			tool := mustAttach(t, k, tt.kind, "ev")
			for i := range byte(10) {
				require.NoError(t, f.Write(message(0, bytes.Repeat([]byte{i}, payload))))
			}
			assert.Equal(t, uint64(7), tool.Lost())
			var got []byte
			for _, r := range tool.Records() {
				got = append(got, r.Payload[0])
			}
			assert.Equal(t, tt.want, got)

			require.NoError(t, f.Write(message(0, []byte{42})))
			assert.Len(t, tool.Records(), 1, "there is room again")
			assert.Equal(t, uint64(7), tool.Lost())

			require.NoError(t, f.Write(message(0, make([]byte, 4*payload+3*headerSize))))
			assert.Empty(t, tool.Records(), "larger than the buffer")
			assert.Equal(t, uint64(8), tool.Lost())
		})
	}
}
