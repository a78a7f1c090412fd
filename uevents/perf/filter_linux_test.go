package perf_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents/perf"
)

func TestFilter(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	s := open(t, fs, nil)
	src := attach(t, s, ev, &perf.AttachOptions{Filter: "seq >= 2 && writer == 1"})
	round := func() (seqs []uint64) {
		for i := range uint64(5) {
			write(t, ev, i, i%2)
		}
		for _, r := range flushed(t, s) {
			seqs = append(seqs, r.seq)
		}
		return seqs
	}
	assert.Equal(t, []uint64{3}, round())
	assert.Equal(t, uint64(1), statsOf(t, src).Matched)
	require.NoError(t, src.SetFilter("seq < 2"))
	assert.Equal(t, []uint64{0, 1}, round())
	require.NoError(t, src.SetFilter(""))
	assert.Equal(t, []uint64{0, 1, 2, 3, 4}, round())

	before, err := fs.Instances()
	require.NoError(t, err)
	for filter, text := range map[string]string{
		"nosuch == 1": "Field not found, at byte", "seq >": "nvalid",
		"(seq == 1": "Too many '('", "seq == 1)": "Too few '('", "seq == \"": "Missing matching quote",
	} {
		err := src.SetFilter(filter)
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", filter)
		assert.ErrorContains(t, err, text, "%q", filter)
		_, err = s.Attach(ev.Name(), &perf.AttachOptions{Filter: filter})
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", filter)
		assert.ErrorContains(t, err, text, "%q", filter)
	}
	after, err := fs.Instances()
	require.NoError(t, err)
	assert.Equal(t, before, after, "explanations leave nothing behind")
	assert.Equal(t, []uint64{0, 1, 2, 3, 4}, round(), "the filter before stays")
	statsOf(t, src)
}

// TestFilterWhileWriting: records that match both filters are neither lost nor read twice. Records have many sizes, and
// the rings have wrapped around, so that the kernel pads records with bytes of others.
func TestFilterWhileWriting(t *testing.T) {
	fs := kerneltest.Require(t)
	const bufferSize, behind = 1 << 19, 2000 // of the largest records, no CPU has more in its ring
	ev := newEvent(t)
	s := open(t, fs, &perf.Options{BufferSize: bufferSize})
	src := attach(t, s, ev, &perf.AttachOptions{Filter: "seq >= 0"})
	var writing, reading sync.WaitGroup
	var written, bytesRead, got atomic.Int64
	var done atomic.Bool
	for w := range uint64(2) {
		writing.Go(func() {
			b := bytes.Repeat([]byte{0xff}, 56)
			binary.NativeEndian.PutUint64(b[4:], 5)
			binary.NativeEndian.PutUint64(b[12:], w)
			for i := 0; !done.Load(); i++ { // they differ only in size: the test counts them
				ok, err := ev.WriteRecord(b[:20+i%37])
				if !assert.NoError(t, err) || !assert.True(t, ok) {
					return
				}
				for written.Add(1); written.Load() > got.Load()+behind && !done.Load(); {
					time.Sleep(time.Millisecond) //nolint:forbidigo // the poll interval of a writer that is ahead
				}
			}
		})
	}
	reading.Go(func() {
		var err error
		for r := (perf.Record{}); err == nil; {
			if err = s.ReadInto(&r); err == nil {
				got.Add(1)
				bytesRead.Add(int64(len(r.Raw)))
			}
		}
		assert.ErrorIs(t, err, io.EOF)
	})
	st, err := s.Stats()
	require.NoError(t, err)
	testscale.Eventually(t, func() bool { return bytesRead.Load() > int64(2*st.Rings*bufferSize) }, "the rings do not wrap around")
	for _, filter := range []string{"seq >= 1", "seq == 5", "", "seq < 9", "writer < 7"} {
		require.NoError(t, src.SetFilter(filter))
	}
	done.Store(true)
	writing.Wait()
	require.NoError(t, s.Stop())
	reading.Wait()
	counts := statsOf(t, src)
	require.Zero(t, counts.Lost, "the test needs rings that are large enough")
	assert.Equal(t, written.Load(), got.Load())
	assert.EqualValues(t, written.Load(), counts.Matched)
}
