package perfdata

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
)

type fullDisk struct{ io.WriteSeeker }

var errFull = errors.New("no space left")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestFullDisk(t *testing.T) {
	_, err := NewWriter(fullDisk{}, Options{})
	assert.ErrorIs(t, err, errFull)
	var f formats
	w, err := NewWriter(create(t), Options{Format: f.format})
	require.NoError(t, err)
	w.file = fullDisk{}
	raw := rawOf(1500, 1, "hello")
	for i := 0; err == nil; i++ {
		require.Less(t, i, flushSize)
		err = w.Write(eventAt(uint64(i), "a", raw))
	}
	assert.ErrorIs(t, err, errFull)
	assert.ErrorIs(t, w.Write(eventAt(0, "a", raw)), errFull)
	assert.ErrorIs(t, err, ErrUnreadable, "nothing can be written at all")
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

// TestDiskFull: wherever the disk is full, the file has what was recorded before, but for what makes room for its end.
func TestDiskFull(t *testing.T) {
	full := 0
	for room := int64(250_000); room < 1_200_000; room += 25_013 {
		var f formats
		file := create(t)
		w, err := NewWriter(smallDisk{file, room}, Options{Format: f.format})
		require.NoError(t, err)
		const n = 8000
		for i := 0; i < n && err == nil; i++ {
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
		require.NotErrorIs(t, closeErr, ErrUnreadable, "%d", room)
		require.LessOrEqual(t, st.Size(), room)
		require.Greater(t, st.Size(), room-2*flushSize, "%d", room)
		r := openFile(t, file, nil)
		var ev reader.Event
		read := 0
		for ; r.Next(&ev) == nil; read++ {
			require.Equal(t, uint64(read), ev.Fields[0].Value.Uint64())
		}
		require.ErrorIs(t, r.Next(&ev), io.EOF)
		if room > 2*flushSize {
			require.Positive(t, read)
		}
	}
	assert.Greater(t, full, 10)
}
