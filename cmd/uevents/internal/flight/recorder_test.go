package flight

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestCauseKeepsMessage: the message of a trigger stays what it was when the ring's memory has other records.
func TestCauseKeepsMessage(t *testing.T) {
	k := ueventstest.New(t, nil)
	p := k.Provider()
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	h, err := sloghandler.New("flight", &sloghandler.Options{Provider: p})
	require.NoError(t, err)
	tool, err := k.Attach(ueventstest.Perf, "*")
	require.NoError(t, err)
	slog.New(h).Info("slow")
	records := tool.Records()
	require.Len(t, records, 1)
	text, err := k.Format(records[0].Event)
	require.NoError(t, err)
	f, err := tracepoint.ParseFormat(text)
	require.NoError(t, err)
	d, err := reader.NewDecoder(records[0].System, f)
	require.NoError(t, err)

	raw := append(make([]byte, tracepoint.CommonSize), records[0].Payload...)
	ev := reader.Event{Process: &reader.Process{PID: 812}}
	require.NoError(t, d.Decode(raw, &ev))
	cause := causeOf(&ev)
	clear(raw)
	assert.Equal(t, Cause{Event: "user_events:flight_info", Process: reader.Process{PID: 812}, Message: "slow"}, cause)
}
