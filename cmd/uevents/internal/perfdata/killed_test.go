package perfdata

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
)

// killedFile is a file of a program that ends after a number of calls of WriteAt.
type killedFile struct {
	*os.File
	calls int
}

var errKilled = errors.New("killed")

func (f *killedFile) WriteAt(b []byte, at int64) (int, error) {
	if f.calls--; f.calls < 0 {
		return 0, errKilled
	}
	return f.File.WriteAt(b, at)
}

// TestKilledInClose: wherever Close ends, the file has all records.
func TestKilledInClose(t *testing.T) {
	const late = 3 // events that appear after the first ones
	for calls := range late + 2 {
		file := create(t)
		n := 0
		w, err := NewWriter(&killedFile{file, calls}, Options{Format: func(_, name string) (string, error) {
			n++
			return formatOf(name, 1500+n, "status"), nil
		}})
		require.NoError(t, err)
		for i := range late + 1 {
			require.NoError(t, w.Write(eventAt(uint64(i), fmt.Sprint("e", i), rawOf(1501+i, uint32(i), ""))))
			require.NoError(t, w.Flush())
		}
		if err := w.Close(); calls <= late {
			require.ErrorIs(t, err, errKilled)
		} else {
			require.NoError(t, err)
		}
		r := openFile(t, file, nil)
		var ev reader.Event
		for i := range late + 1 {
			require.NoError(t, r.Next(&ev), calls)
			assert.EqualValues(t, i, ev.Fields[0].Value.Uint64())
		}
		want := io.EOF
		if calls == 0 { // the sections follow, which the header does not say
			want = errFormat
		}
		require.ErrorIs(t, r.Next(&ev), want)
	}
}
