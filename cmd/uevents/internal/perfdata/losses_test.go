package perfdata

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
)

// lossesOf reads all of a file.
func lossesOf(t *testing.T, file *os.File) (losses []loss) {
	t.Helper()
	r := openFile(t, file, nil)
	r.Lost = func(name string, n uint64, at time.Time) error {
		losses = append(losses, loss{name, n, at.UTC()})
		return nil
	}
	var ev reader.Event
	for {
		if err := r.Next(&ev); errors.Is(err, io.EOF) {
			assert.ErrorIs(t, r.Next(&ev), io.EOF)
			return losses
		} else if err != nil {
			require.NoError(t, err)
		}
	}
}

// TestLost: lost records are in the file, also those of an event without records.
func TestLost(t *testing.T) {
	w, file := newWriter(t)
	require.NoError(t, w.Write(eventAt(0, "a", rawOf(1500, 1, ""))))
	require.NoError(t, w.Lost("user_events:a", 1204, wall.Add(5)))
	require.NoError(t, w.Lost("user_events:b", 3, wall.Add(7)))
	require.NoError(t, w.Write(eventAt(10, "a", rawOf(1500, 1, ""))))
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	assert.Error(t, w.Write(eventAt(10, "a", rawOf(1500, 1, ""))))
	assert.Error(t, w.Lost("user_events:a", 1, wall))
	assert.Equal(t, []loss{{"user_events:a", 1204, wall.Add(5)}, {"user_events:b", 3, wall.Add(7)}}, lossesOf(t, file))

	r := openFile(t, file, nil)
	r.Lost = func(string, uint64, time.Time) error { return assert.AnError }
	var ev reader.Event
	require.NoError(t, r.Next(&ev))
	require.ErrorIs(t, r.Next(&ev), assert.AnError)
	r = openFile(t, file, nil) // nothing is called
	require.NoError(t, r.Next(&ev))
	require.NoError(t, r.Next(&ev))
	assert.ErrorIs(t, r.Next(&ev), io.EOF)
}

// TestLostWithoutRecords: whatever events lose records, and whether they have others, the losses of the file add up to all of them: in a
// finished file, in a stream, and in the file of a program that was killed.
func TestLostWithoutRecords(t *testing.T) {
	format := func(_, name string) (string, error) {
		if name == "memory" {
			return "", errors.New("it is in shared memory")
		}
		return formatOf(name, 1500+len(name), "status"), nil
	}
	want := []loss{
		{"user_events:early", 3, wall.Add(-2)},
		{"user_events:a", 5, wall.Add(2)},
		{"user_events:burst_error", 7, wall.Add(3)},
		{"user_events:memory", 11, wall.Add(4)},
		{"", 13, wall.Add(5)},
	}
	write := func(w *Writer, records bool) {
		require.NoError(t, w.Lost("user_events:early", 2, wall.Add(-2)))
		require.NoError(t, w.Lost("user_events:early", 1, wall.Add(-1)))
		if records {
			require.NoError(t, w.Write(eventAt(0, "a", rawOf(1501, 1, ""))))
		}
		for _, l := range want[1:] {
			require.NoError(t, w.Lost(l.name, l.n, l.at))
		}
	}
	for _, records := range []bool{true, false} {
		finished := create(t)
		w, err := NewWriter(finished, Options{Format: format})
		require.NoError(t, err)
		write(w, records)
		require.NoError(t, w.Close())
		assert.Equal(t, want, lossesOf(t, finished))

		piped := create(t)
		w, err = NewWriter(struct{ io.Writer }{piped}, Options{Format: format})
		require.NoError(t, err)
		write(w, records)
		require.NoError(t, w.Close())
		assert.Equal(t, want, lossesOf(t, piped))
	}
	killed := create(t)
	w, err := NewWriter(killed, Options{Format: format})
	require.NoError(t, err)
	write(w, true)
	require.NoError(t, w.Flush())
	assert.Equal(t, want, lossesOf(t, killed))
}

// TestLostSamples: what perf record adds at the end counts the records again that the kernel has counted before.
func TestLostSamples(t *testing.T) {
	w, file := newWriter(t)
	require.NoError(t, w.Write(eventAt(0, "a", rawOf(1500, 1, ""))))
	require.NoError(t, w.Write(eventAt(10, "b", rawOf(1501, 1, ""))))
	require.NoError(t, w.Lost("user_events:a", 5, wall.Add(5)))
	samples := func(misc uint16, id, n uint64) {
		end := w.begin(typeLostSamples, misc)
		w.u64(n)
		w.trailer(0, 0, 0, 0, id)
		end()
	}
	samples(0, 1, 3)
	samples(0, 2, 7)
	samples(0, 2, 1)
	samples(miscLostSamplesBPF, 2, 100) // they were not wanted
	w.begin(typeLostSamples, 0)()
	w.begin(typeLost, 0)()
	require.NoError(t, w.Close())
	assert.Equal(t, []loss{{"user_events:a", 5, wall.Add(5)}, {"user_events:b", 6, wall.Add(10)}}, lossesOf(t, file))
}
