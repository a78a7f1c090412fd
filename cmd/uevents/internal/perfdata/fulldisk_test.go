package perfdata

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
)

type fullDisk struct{}

var errFull = errors.New("no space left")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestFullDisk(t *testing.T) {
	_, err := NewWriter(fullDisk{}, Options{})
	assert.ErrorIs(t, err, errFull)
	var f formats
	w, err := NewWriter(new(bytes.Buffer), Options{Format: f.format})
	require.NoError(t, err)
	w.to = fullDisk{}
	raw := rawOf(1500, 1, "hello")
	for i := 0; err == nil; i++ {
		require.Less(t, i, flushSize)
		err = w.Write(eventAt(uint64(i), "a", raw))
	}
	assert.ErrorIs(t, err, errFull)
	assert.ErrorIs(t, w.Write(eventAt(0, "a", raw)), errFull)
	assert.ErrorIs(t, w.Flush(), errFull)
	assert.ErrorIs(t, w.Close(), errFull)
}

// smallDisk is a file on a disk that has room for so many bytes.
type smallDisk struct {
	*os.File
	room int64
}

func (d smallDisk) Write(b []byte) (int, error) {
	at, err := d.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	if room := max(d.room-at, 0); int64(len(b)) > room {
		n, _ := d.File.Write(b[:room])
		return n, errFull
	}
	return d.File.Write(b)
}

// TestDiskFull: wherever the disk is full, the file has all that was written whole before.
func TestDiskFull(t *testing.T) {
	full := 0
	for room := int64(50_000); room < 1_200_000; room += 25_013 {
		var f formats
		file := create(t)
		w, err := NewWriter(smallDisk{file, room}, Options{Format: f.format})
		require.NoError(t, err)
		const n = 8000
		whole := 0 // records before what could not be written
		for i := 0; i < n && err == nil; i++ {
			if len(w.buf) == 0 {
				whole = i
			}
			err = w.Write(eventAt(uint64(i), "a", rawOf(1500, uint32(i), "hello")))
		}
		closeErr := w.Close()
		st, statErr := file.Stat()
		require.NoError(t, statErr)
		if err == nil && closeErr == nil {
			continue
		}
		full++
		require.ErrorIs(t, closeErr, errFull)
		require.LessOrEqual(t, st.Size(), room)
		if err == nil && w.offset > uint64(room)-5000 { // it was not full before the end
			whole = n
		}
		r := openFile(t, file, nil)
		var ev reader.Event
		for i := range whole {
			require.NoError(t, r.Next(&ev), "%d", room)
			require.Equal(t, uint64(i), ev.Fields[0].Value.Uint64())
		}
		require.ErrorIs(t, r.Next(&ev), io.EOF)
	}
	assert.Greater(t, full, 10)
}
