package usereventsreceiver

import (
	"encoding/binary"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
)

// TestQueueBound: the queue holds no more memory than its limit, whatever the size of records, and frees it.
func TestQueueBound(t *testing.T) {
	for _, size := range []int{8, 300, 64 << 10} {
		q := newQueue(2 << 20)
		raw, n := make([]byte, size), 0
		for q.put(new(reader.Undecoded), raw) {
			n++
		}
		assert.LessOrEqual(t, q.size(), 2<<20)
		assert.Greater(t, q.size(), 1<<20)
		assert.GreaterOrEqual(t, n, min(q.max*chunkRecords, q.max*(chunkData/size)))
		assert.False(t, q.put(new(reader.Undecoded), raw))
		for n > 0 {
			c, err := q.take(testscale.Patience)
			require.NoError(t, err)
			n -= len(c.records)
			q.release(c)
			<-q.room
		}
		assert.Zero(t, q.size())
		_, err := q.take(time.Millisecond)
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
	}
}

// TestQueueEnds: the end of a process stays behind its records and before others, and needs no room.
func TestQueueEnds(t *testing.T) {
	q := newQueue(0)
	const full = 2 * chunkRecords
	for i := range full {
		q.end(int32(1 + i)) // in the first chunk and in the second one
		if !q.put(&reader.Undecoded{PID: int32(1 + i), Decoder: new(record.Decoder)}, nil) {
			require.Greater(t, i, full/2-2)
			break
		}
	}
	for i := range 10 {
		require.False(t, q.put(new(reader.Undecoded), nil))
		q.end(int32(-i))
		q.end(0) // a process that executes programs all the time, and writes nothing
	}
	q.close()
	var ends, records []int32
	for c, err := q.take(0); err == nil; c, err = q.take(0) {
		for _, r := range c.records {
			if r.Decoder == nil {
				ends = append(ends, r.PID)
				continue
			}
			require.Equal(t, r.PID, ends[len(ends)-1])
			records = append(records, r.PID)
		}
		q.release(c)
	}
	require.Equal(t, len(records)+1+10, len(ends))
	assert.Equal(t, []int32{0, -1, -2}, ends[len(records)+1:][:3])
	assert.Zero(t, q.size())
	q.end(1)
	assert.Equal(t, chunkSize, q.size(), "an empty queue has room")
}

// TestQueueOrder: what one goroutine puts into the queue, another one takes in order and unchanged, up to the end.
func TestQueueOrder(t *testing.T) {
	q := newQueue(1 << 20)
	total := testscale.CountConcurrent(200_000, 10_000)
	process := &record.Process{PID: 7}
	decoder, err := record.NewDecoder(tracepoint.System, tracepoint.MustParse("myapp u64 n").Format())
	require.NoError(t, err)
	go func() {
		defer q.close()
		raw := make([]byte, 200)
		for i := range total {
			binary.LittleEndian.PutUint64(raw, uint64(i))
			u := reader.Undecoded{Time: time.Unix(1, int64(i)), Monotonic: uint64(i), CPU: 3, PID: 7, TID: 8, Process: process, Decoder: decoder}
			for !q.put(&u, raw[:8+i%192]) {
				<-q.room
			}
		}
	}()
	i := 0
	var ev record.Record
	for {
		c, err := q.take(testscale.Patience)
		if err == io.EOF { //nolint:errorlint // it is returned as it is
			break
		}
		require.NoError(t, err)
		for j := range c.records {
			r := &c.records[j]
			selected, _ := c.decode(r, &ev)
			require.True(t, selected)
			require.Equal(t, uint64(i), binary.LittleEndian.Uint64(ev.Raw))
			require.Len(t, ev.Raw, 8+i%192)
			require.Equal(t, uint64(i), ev.Monotonic)
			require.Equal(t, time.Unix(1, int64(i)), ev.Time)
			require.Equal(t, []any{3, int32(7), int32(8)}, []any{ev.CPU, ev.PID, ev.TID})
			require.Same(t, process, ev.Process)
			require.Same(t, decoder, r.Decoder)
			i++
		}
		q.release(c)
	}
	assert.Equal(t, total, i)
}
