package sloghandler_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/sloghandler"
)

// TestEventHeaderIsNotTakenForCommonSchema: neither a tool that enables the tracepoints of keyword 1 nor one that looks for events
// called Log gets records without that layout.
func TestEventHeaderIsNotTakenForCommonSchema(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{Encoding: sloghandler.EventHeader})
	slog.New(h).Info("m", "k", "v")
	raw := tr.Records()
	require.Len(t, raw, 1)
	ev, err := eventheader.Decode(raw[0].Declaration.Name, raw[0].Payload)
	require.NoError(t, err)
	assert.Equal(t, "slog", ev.Name)
	assert.Equal(t, "app_L4K2", raw[0].Declaration.Name)
	assert.Zero(t, ev.Tracepoint.Keyword&1)
}
