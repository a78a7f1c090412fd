package ueventstest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestWriteErrors has the order in which the kernel looks at a write.
func TestWriteErrors(t *testing.T) {
	tests := []struct {
		name             string
		buf              []byte
		untraced, traced error
	}{
		{"nothing", nil, errno.EFAULT, errno.EFAULT},
		{"half an index", []byte{0, 0, 0}, errno.EFAULT, errno.EFAULT},
		{"negative index", message(0x8000_0000, make([]byte, 9)), errno.EINVAL, errno.EINVAL},
		{"unknown index", message(1, make([]byte, 9)), errno.ENOENT, errno.ENOENT},
		{"unknown index, short", message(1), errno.ENOENT, errno.ENOENT},
		{"short", message(0, make([]byte, 8)), errno.EINVAL, errno.EINVAL},
		{"bad location", message(0, location(0, 100), make([]byte, 5)), errno.EBADF, errno.EFAULT},
		{"exact", message(0, location(5, 0), make([]byte, 5)), errno.EBADF, nil},
		{"longer", message(0, location(0, 0), make([]byte, 50)), errno.EBADF, nil},
	}
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		f := k.open()
		mustRegister(t, f, "ev __rel_loc char[] a; u32 b; u8 c")
		for _, tt := range tests {
			assert.ErrorIs(t, f.Write(tt.buf), tt.untraced, tt.name)
		}
		tool := mustAttach(t, k, Ftrace, "ev")
		for _, tt := range tests {
			assert.ErrorIs(t, f.Write(tt.buf), tt.traced, tt.name)
		}
		assert.Len(t, tool.Records(), 2)
		mustRegister(t, k.open(), "other")
		assert.ErrorIs(t, k.open().Write(message(0)), errno.ENOENT, "an index of another file")
	})
}

// TestWriteValidator has payloads whose dynamic fields the kernel checks, beside those of the semantics' tests in package uevents.
func TestWriteValidator(t *testing.T) {
	text := []byte("Test\x00")
	long := append(bytes.Repeat([]byte{'x'}, 60000), 0)
	tests := []struct {
		name    string
		fields  string
		payload []byte
		want    error
	}{
		{"absolute, the location itself", "__data_loc u8[] data", append(location(8, 4), text...), nil},
		{"absolute, common fields", "__data_loc char[] data", append(location(0, 8), text...), errno.EFAULT},
		{"absolute, nothing", "__data_loc char[] data", append(location(0, 0), text...), errno.EFAULT},
		{"absolute, common fields as numbers", "__data_loc u8[] data", append(location(0, 8), text...), nil},

		{"behind a fixed field", "u8 a; __rel_loc char[] data", append(append([]byte{9}, location(0, 5)...), text...), nil},
		{"two, one of them bad", "__rel_loc char[] a; __rel_loc char[] b", append(append(location(4, 5), location(0, 6)...), text...), errno.EFAULT},
		{"two of the same text", "__rel_loc char[] a; __rel_loc char[] b", append(append(location(4, 5), location(0, 5)...), text...), nil},
		{"large and thrown away", "__rel_loc char[] data", append(location(0, len(long)), long...), nil},
		{"large, bad and thrown away", "__rel_loc char[] data", append(location(0xffff, len(long)), long...), nil},
	}
	for _, kind := range []Kind{Ftrace, Perf} {
		onEach(t, generations, func(t *testing.T, k *Kernel) {
			for i, tt := range tests {
				name := fmt.Sprintf("ev%d", i)
				f := k.open()
				mustRegister(t, f, name+" "+tt.fields)
				tool := mustAttach(t, k, kind, name)
				assert.ErrorIs(t, f.Write(message(0, tt.payload)), tt.want, "%s: %s", kind, tt.name)
				records := tool.Records()
				if tt.want == nil && tool.Oversized() == 0 {
					require.Len(t, records, 1, tt.name)
					assert.Equal(t, tt.payload, records[0].Payload, tt.name)
				} else {
					assert.Empty(t, records, tt.name)
				}
			}
		})
	}
}

// TestWriteToBoth has two tools of which one has no room, and a payload that only the
// other looks at.
func TestWriteToBoth(t *testing.T) {
	k := NewKernel(nil)
	f := k.open()
	mustRegister(t, f, "ev __rel_loc char[] a")
	ftrace, perf := mustAttach(t, k, Ftrace, "ev"), mustAttach(t, k, Perf, "ev")

	require.NoError(t, f.Write(message(0, location(0, 1), []byte{0})))
	require.NoError(t, f.Write(message(0, location(0, 0), make([]byte, 5000))))
	assert.ErrorIs(t, f.Write(message(0, location(0, 9), make([]byte, 8))), errno.EFAULT)
	assert.ErrorIs(t, f.Write(message(0, location(0, 5001), make([]byte, 5000))), errno.EFAULT)

	got := ftrace.Records()
	require.Len(t, got, 1)
	assert.Equal(t, uint64(2), ftrace.Oversized())
	assert.Zero(t, ftrace.Lost())
	both := perf.Records()
	require.Len(t, both, 2)
	assert.Equal(t, got[0], both[0], "a copy of the same record")
	assert.NotSame(t, &got[0].Payload[0], &both[0].Payload[0])
	assert.Equal(t, []uint64{1, 2}, []uint64{both[0].Seq, both[1].Seq})

	assert.Zero(t, perf.Oversized())
	require.NoError(t, f.Write(message(0, location(0, 0), make([]byte, 9000))))
	assert.Equal(t, []uint64{3, 1}, []uint64{ftrace.Oversized(), perf.Oversized()})
}

func TestWriteDoesNotAllocate(t *testing.T) {
	testscale.CountAllocations(t)
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		f := k.open()
		mustRegister(t, f, "ev u32 a; __rel_loc char[] b")
		buf := message(0, make([]byte, 4), location(0, 1), []byte{0})
		write := func() { _ = f.Write(buf) }
		assert.Zero(t, testing.AllocsPerRun(100, write), "untraced")
		mustAttach(t, k, Ftrace, "ev")
		assert.Zero(t, testing.AllocsPerRun(100, write), "traced")
		mustAttach(t, k, Perf, "ev")
		assert.Zero(t, testing.AllocsPerRun(100, write), "traced twice")
	})
}
