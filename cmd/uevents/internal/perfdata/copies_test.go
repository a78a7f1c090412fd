package perfdata

import (
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/perfdata/perfdatatest"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

type request struct {
	Status uint16 `uevent:"status"`
}

// TestCopies: a log record that was written to two events is in the file twice, and read once.
func TestCopies(t *testing.T) {
	k := ueventstest.New(t, nil)
	p := k.Provider()
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	h, err := sloghandler.New("myapp", &sloghandler.Options{
		Provider: p, Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[request]("request", nil)},
	})
	require.NoError(t, err)
	tool, err := k.Attach(ueventstest.Perf, "myapp_request", "myapp_info")
	require.NoError(t, err)
	slog.New(h).Info("request", "status", 404)
	slog.New(h).Info("hello")
	records := tool.Records()
	require.Len(t, records, 3)

	var recording perfdatatest.Recording
	ids := map[string]uint64{}
	for i, rec := range records {
		if ids[rec.Event] == 0 {
			text, err := k.Format(rec.Event)
			require.NoError(t, err)
			ids[rec.Event] = recording.Event("user_events", text)
		}
		recording.Add(ids[rec.Event], eventAt(uint64(i), rec.Event, append(make([]byte, tracepoint.CommonSize), rec.Payload...)))
	}
	r := open(t, recording.File(), nil)
	var ev reader.Event
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, "myapp_request", ev.Name)
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, "hello", ev.Message)
	assert.ErrorIs(t, r.Next(&ev), io.EOF)
}
