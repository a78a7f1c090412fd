package ueventstest

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"path"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

func TestKindString(t *testing.T) {
	assert.Equal(t, "ftrace", Ftrace.String())
	assert.Equal(t, "perf", Perf.String())
}

func TestAttachNames(t *testing.T) {
	k := NewKernel(nil)
	f := k.open()
	for _, name := range []string{"app_info", "app_error", "other"} {
		mustRegister(t, f, name)
	}
	tests := []struct {
		patterns []string
		want     []string
		err      error
	}{
		{nil, nil, nil},
		{[]string{"app_info"}, []string{"app_info"}, nil},
		{[]string{"user_events:app_info"}, []string{"app_info"}, nil},
		{[]string{"app_info", "user_events:app_info", "app_i*"}, []string{"app_info"}, nil},
		{[]string{"app_*"}, []string{"app_info", "app_error"}, nil},
		{[]string{"user_events:app_*"}, []string{"app_info", "app_error"}, nil},
		{[]string{"*"}, []string{"app_info", "app_error", "other"}, nil},
		{[]string{"app_info", "nothing"}, nil, errno.ENOENT},
		{[]string{"nothing*"}, nil, errno.ENOENT},
		{[]string{"user_events_multi:app_info"}, nil, errno.ENOENT},
		{[]string{"["}, nil, path.ErrBadPattern},
	}
	for _, tt := range tests {
		tool, err := k.Attach(Ftrace, tt.patterns...)
		require.ErrorIs(t, err, tt.err, "%q", tt.patterns)
		var attached []string
		for _, e := range k.Events() {
			if e.Ftrace > 0 {
				attached = append(attached, e.Name)
			}
		}
		assert.ElementsMatch(t, tt.want, attached, "%q", tt.patterns)
		if err == nil {
			tool.Detach()
		}
	}
}

func TestRecord(t *testing.T) {
	k := NewKernel(nil)
	f := k.open()
	mustRegister(t, f, "plain u32 a;unsigned char[0x10] b")
	mustRegister(t, f, "second u8 a")
	mustRegister(t, f, "odd __rel_loc u8[] a")
	tool := mustAttach(t, k, Ftrace, "*")

	before := time.Now().Truncate(0)
	require.NoError(t, f.Write(message(0, make([]byte, 20))))
	require.NoError(t, f.Write(message(1, []byte{7})))
	require.NoError(t, f.Write(message(2, location(0, 0))))
	records := tool.Records()
	require.Len(t, records, 3)
	for i, r := range records {
		assert.Equal(t, uint64(i+1), r.Seq)
		assert.False(t, r.Time.Before(before))
		assert.False(t, r.Time.After(time.Now()))
	}

	assert.Equal(t, "plain", records[0].Event)
	assert.Equal(t, tracepoint.Declaration{Name: "plain", Fields: []tracepoint.Field{
		{Name: "a", Type: tracepoint.Scalar(tracepoint.U32)},
		{Name: "b", Type: tracepoint.Array(tracepoint.UChar, 16)},
	}}, records[0].Declaration)

	assert.Equal(t, "second", records[1].Event)
	assert.Equal(t, []byte{7}, records[1].Payload)

	assert.Equal(t, "odd __rel_loc u8[] a", records[2].Declaration.String())
}

func TestRecordsAreCopies(t *testing.T) {
	k := NewKernel(nil)
	f := k.open()
	mustRegister(t, f, "ev")
	tool := mustAttach(t, k, Ftrace, "ev")
	buf := message(0, []byte("first"))
	require.NoError(t, f.Write(buf))
	copy(buf[uevents.IndexSize:], "other")
	require.NoError(t, f.Write(buf))
	records := tool.Records()
	assert.Equal(t, "first", string(records[0].Payload))
	records[0].Payload[0] = 'X'
	assert.Equal(t, "other", string(records[1].Payload))
	assert.Empty(t, tool.Records(), "records are taken out")
}

// TestTwoTools: each has a buffer of its own, from when it attaches to when it
// detaches.
func TestTwoTools(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		f := k.open()
		r := mustRegister(t, f, "ev")
		write := func(b byte) { require.NoError(t, f.Write(message(0, []byte{b}))) }
		payloads := func(tool *Tool) (out []byte) {
			for _, r := range tool.Records() {
				out = append(out, r.Payload...)
			}
			return out
		}
		first := mustAttach(t, k, Ftrace, "ev")
		write(1)
		second := mustAttach(t, k, Ftrace, "ev")
		write(2)
		first.Detach()
		first.Detach()
		assert.NotZero(t, r.Word.Load()&r.Mask)
		write(3)
		second.Detach()
		assert.ErrorIs(t, f.Write(message(0, []byte{4})), errno.EBADF)
		assert.Zero(t, r.Word.Load()&r.Mask)
		assert.Equal(t, []byte{1, 2}, payloads(first))
		assert.Equal(t, []byte{2, 3}, payloads(second))
	})
}

// TestRecordsOutliveTheEvent reads records of an event that is gone.
func TestRecordsOutliveTheEvent(t *testing.T) {
	k := NewKernel(nil)
	f := k.open()
	r := mustRegister(t, f, "ev")
	tool := mustAttach(t, k, Ftrace, "ev")
	require.NoError(t, f.Write(message(0)))
	require.NoError(t, f.Unregister(r.Word, 0))
	require.NoError(t, f.Close())
	tool.Detach()
	assert.Empty(t, names(k))
	assert.Equal(t, "ev", tool.Records()[0].Event)
}

func TestNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := NewKernel(nil)
		f := k.open()
		mustRegister(t, f, "ev")
		tool := mustAttach(t, k, Ftrace, "ev")
		go func() {
			for i := range byte(3) {
				time.Sleep(time.Second) //nolint:forbidigo // in a bubble
				assert.NoError(t, f.Write(message(0, []byte{i})))
			}
		}()
		for i := range byte(3) {
			r, err := tool.Next(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []byte{i}, r.Payload)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second) //nolint:forbidigo // in a bubble
		defer cancel()
		_, err := tool.Next(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)

		require.NoError(t, f.Write(message(0, []byte{9})))
		tool.Detach()
		r, err := tool.Next(t.Context())
		require.NoError(t, err, "what was recorded stays")
		assert.Equal(t, []byte{9}, r.Payload)
		_, err = tool.Next(t.Context())
		assert.ErrorIs(t, err, io.EOF)
	})
}

// TestNextWakesAll has several goroutines that wait for records and for the end.
func TestNextWakesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := NewKernel(nil)
		f := k.open()
		mustRegister(t, f, "ev")
		tool := mustAttach(t, k, Perf, "ev")
		const readers = 5
		got, ended := make(chan uint64, 100), make(chan error, readers)
		for range readers {
			go func() {
				for {
					r, err := tool.Next(t.Context())
					if err != nil {
						ended <- err
						return
					}
					got <- r.Seq
				}
			}()
		}
		synctest.Wait()
		for range 20 {
			require.NoError(t, f.Write(message(0)))
		}
		synctest.Wait()
		assert.Len(t, got, 20)
		tool.Detach()
		synctest.Wait()
		require.Len(t, ended, readers)
		for range readers {
			assert.ErrorIs(t, <-ended, io.EOF)
		}
	})
}

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
