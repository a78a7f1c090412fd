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

// TestWriteEvents is the selftest ftrace_test: write_events.
func TestWriteEvents(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		f := k.open()
		r := mustRegister(t, f, "__test_event u32 field1; u32 field2")
		payload := []byte{1, 0, 0, 0, 2, 0, 0, 0}
		assert.ErrorIs(t, f.Write(message(r.Index, payload)), errno.EBADF, "no tool is attached")

		tool := mustAttach(t, k, Ftrace, "__test_event")
		assert.NotZero(t, r.Word.Load()&r.Mask)
		require.NoError(t, f.Write(message(r.Index, payload)))
		records := tool.Records()
		require.Len(t, records, 1)
		assert.Equal(t, payload, records[0].Payload)

		assert.ErrorIs(t, f.Write(message(0xffff_ffff, payload)), errno.EINVAL, "a negative index")
	})
}

// TestWriteEmptyEvents is the selftest ftrace_test: write_empty_events, and its counterpart
// of perf_test. Before Linux 6.4, copying no bytes counted as a fault.
func TestWriteEmptyEvents(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		f := k.open()
		r := mustRegister(t, f, "__test_event")
		for _, kind := range []Kind{Ftrace, Perf} {
			tool := mustAttach(t, k, kind, "__test_event")
			err := f.Write(message(r.Index))
			if k.page != nil {
				assert.ErrorIs(t, err, errno.EFAULT)
				assert.Empty(t, tool.Records())
			} else {
				assert.NoError(t, err)
				assert.Len(t, tool.Records(), 1)
			}
			tool.Detach()
		}
	})
}

// TestPerfWrite is the selftest perf_test: perf_write.
func TestPerfWrite(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		f := k.open()
		r := mustRegister(t, f, "__test_event u32 field1; u32 field2")
		assert.Zero(t, r.Word.Load())
		tool := mustAttach(t, k, Perf, "__test_event")
		assert.NotZero(t, r.Word.Load()&r.Mask)
		payload := []byte{1, 0xc0, 0, 0, 0x1a, 0xc0, 0, 0}
		require.NoError(t, f.Write(message(r.Index, payload)))
		assert.Equal(t, payload, tool.Records()[0].Payload)
		tool.Detach()
		assert.Zero(t, r.Word.Load())
	})
}

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

// TestWriteValidator is the selftest ftrace_test: write_validator, and what it leaves out.
func TestWriteValidator(t *testing.T) {
	text := []byte("Test\x00")
	long := append(bytes.Repeat([]byte{'x'}, 60000), 0)
	tests := []struct {
		name    string
		fields  string
		payload []byte
		want    error
	}{
		{"undersized", "__rel_loc char[] data", nil, errno.EINVAL},
		{"in bounds", "__rel_loc char[] data", append(location(0, 5), text...), nil},
		{"offset way out", "__rel_loc char[] data", append(location(1024, 5), text...), errno.EFAULT},
		{"offset 1 byte out", "__rel_loc char[] data", append(location(1, 5), text...), errno.EFAULT},
		{"size way out", "__rel_loc char[] data", append(location(0, 5+1024), text...), errno.EFAULT},
		{"size 1 byte out", "__rel_loc char[] data", append(location(0, 6), text...), errno.EFAULT},
		{"no NUL", "__rel_loc char[] data", append(location(0, 5), "AAAAA"...), errno.EFAULT},

		{"part of it", "__rel_loc char[] data", append(location(2, 3), text...), nil},
		{"ends before the NUL", "__rel_loc char[] data", append(location(0, 4), text...), errno.EFAULT},
		{"empty at the start", "__rel_loc char[] data", append(location(0, 0), text...), nil},
		{"empty inside", "__rel_loc char[] data", append(location(2, 0), text...), errno.EFAULT},
		{"empty at the end", "__rel_loc char[] data", append(location(5, 0), text...), nil},
		{"empty and no more bytes", "__rel_loc char[] data", location(0, 0), nil},
		{"unsigned text", "__rel_loc unsigned char[] data", append(location(0, 5), "AAAAA"...), errno.EFAULT},
		{"numbers", "__rel_loc u8[] data", append(location(0, 5), "AAAAA"...), nil},
		{"numbers out of bounds", "__rel_loc u8[] data", append(location(0, 6), "AAAAA"...), errno.EFAULT},

		{"absolute", "__data_loc char[] data", append(location(12, 5), text...), nil},
		{"absolute, 1 byte out", "__data_loc char[] data", append(location(13, 5), text...), errno.EFAULT},
		{"absolute, no NUL", "__data_loc char[] data", append(location(12, 5), "AAAAA"...), errno.EFAULT},
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
				t.Run(fmt.Sprintf("%s/%s", kind, tt.name), func(t *testing.T) {
					name := fmt.Sprintf("ev%d", i)
					f := k.open()
					mustRegister(t, f, name+" "+tt.fields)
					tool := mustAttach(t, k, kind, name)
					assert.ErrorIs(t, f.Write(message(0, tt.payload)), tt.want)
					records := tool.Records()
					if tt.want == nil && tool.Oversized() == 0 {
						require.Len(t, records, 1)
						assert.Equal(t, tt.payload, records[0].Payload)
					} else {
						assert.Empty(t, records)
					}
				})
			}
		})
	}
}

// TestSizeLimits has where success stops to mean recorded.
func TestSizeLimits(t *testing.T) {
	tests := []struct {
		kind Kind
		max  int
	}{
		{Ftrace, 4064},
		{Perf, 8184},
	}
	for _, tt := range tests {
		onEach(t, generations, func(t *testing.T, k *Kernel) {
			f := k.open()
			mustRegister(t, f, "ev")
			tool := mustAttach(t, k, tt.kind, "ev")
			require.NoError(t, f.Write(message(0, make([]byte, tt.max))))
			require.NoError(t, f.Write(message(0, make([]byte, tt.max+1))))
			require.NoError(t, f.Write(message(0, make([]byte, 1<<20))))
			records := tool.Records()
			require.Len(t, records, 1)
			assert.Len(t, records[0].Payload, tt.max)
			assert.Equal(t, uint64(2), tool.Oversized())
			assert.Zero(t, tool.Lost())
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
	both := perf.Records()
	require.Len(t, both, 2)
	assert.Equal(t, got[0], both[0], "a copy of the same record")
	assert.NotSame(t, &got[0].Payload[0], &both[0].Payload[0])
	assert.Equal(t, []uint64{1, 2}, []uint64{both[0].Seq, both[1].Seq})
}

func TestWriteDoesNotAllocate(t *testing.T) {
	if testscale.Race {
		t.Skip("not under the race detector: it allocates")
	}
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

// BenchmarkWrite says what the simulated kernel adds to benchmarks that run on it.
func BenchmarkWrite(b *testing.B) {
	k := NewKernel(nil)
	f := k.open()
	mustRegister(b, f, "ev u32 a; __rel_loc char[] b")
	buf := message(0, make([]byte, 4), location(0, 36), make([]byte, 36))
	run := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = f.Write(buf)
		}
	}
	b.Run("untraced", run)
	mustAttach(b, k, Ftrace, "ev")
	b.Run("ftrace", run)
	mustAttach(b, k, Perf, "ev")
	b.Run("ftrace+perf", run)
}
