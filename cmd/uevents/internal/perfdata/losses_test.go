package perfdata

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/perfdata/perfdatatest"
	"github.com/userevents/userevents-go/reader"
)

// loss is a number of lost records of an event, until a time.
type loss struct {
	name string
	n    uint64
	at   time.Time
}

// lossesOf reads all of a file.
func lossesOf(t *testing.T, content []byte) (losses []loss) {
	t.Helper()
	r := open(t, content, nil)
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

// TestLost: the losses of the file are reported, also those of an event without records, and of no event that it has.
func TestLost(t *testing.T) {
	recording := recordingOf(eventAt(0, "a", rawOf(1500, 1, "")))
	recording.Lost(1, 1204, wall.Add(5))
	recording.Lost(2, 3, wall.Add(7))
	recording.Lost(9, 13, wall.Add(8))
	recording.Add(1, eventAt(10, "a", rawOf(1500, 1, "")))
	for _, content := range forms(recording) {
		assert.Equal(t, []loss{{"user_events:a", 1204, wall.Add(5)}, {"user_events:b", 3, wall.Add(7)}, {"", 13, wall.Add(8)}}, lossesOf(t, content))

		r := open(t, content, nil)
		r.Lost = func(string, uint64, time.Time) error { return assert.AnError }
		var ev reader.Event
		require.NoError(t, r.Next(&ev))
		require.ErrorIs(t, r.Next(&ev), assert.AnError)
		r = open(t, content, nil) // nothing is called
		require.NoError(t, r.Next(&ev))
		require.NoError(t, r.Next(&ev))
		assert.ErrorIs(t, r.Next(&ev), io.EOF)
	}
}

// TestLostSamples: what perf record adds at the end counts the records again that the kernel has counted before.
func TestLostSamples(t *testing.T) {
	recording := recordingOf(eventAt(0, "a", rawOf(1500, 1, "")), eventAt(10, "b", rawOf(1501, 1, "")))
	recording.Lost(1, 5, wall.Add(5))
	samples := func(misc uint16, id, n uint64) {
		recording.Record(perfdatatest.LostSamples, misc, append(words(n), perfdatatest.Trailer(0, 0, 0, id)...))
	}
	samples(0, 1, 3)
	samples(0, 2, 7)
	samples(0, 2, 1)
	samples(miscLostSamplesBPF, 2, 100) // they were not wanted
	recording.Record(perfdatatest.LostSamples, 0, nil)
	recording.Record(perfdatatest.Lost, 0, nil)
	assert.Equal(t, []loss{{"user_events:a", 5, wall.Add(5)}, {"user_events:b", 6, wall.Add(10)}}, lossesOf(t, recording.File()))
}
