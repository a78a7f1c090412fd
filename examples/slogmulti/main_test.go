package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// simulated returns a simulated kernel, and a handler of events on it.
func simulated(t *testing.T) (*ueventstest.Kernel, *sloghandler.Handler) {
	kernel := ueventstest.New(t, nil)
	p := kernel.Provider()
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	events, err := sloghandler.New("slogmulti", &sloghandler.Options{Provider: p})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, events.Close()) })
	return kernel, events
}

func TestServe(t *testing.T) {
	kernel, events := simulated(t)
	tracer, err := kernel.Attach(ueventstest.Perf, "slogmulti_*")
	require.NoError(t, err)

	var out strings.Builder
	serve(newLogger(&out, events), 1)
	assert.Contains(t, out.String(), "msg=served request=1 user.id=7")
	assert.NotContains(t, out.String(), "tracing tool only")
	records := tracer.Records()
	require.Len(t, records, 2)
	assert.Contains(t, text(t, records[0]), `message=for the tracing tool only`)
	assert.Contains(t, text(t, records[1]), `attributes={"request":1,"user":{"id":7}}`)

	tracer.Detach()
	serve(newLogger(&out, events), 1)
	assert.Empty(t, tracer.Records())
}

// TestRun: a tool that attaches while the program runs gets its debug records, so the program does not end by itself.
func TestRun(t *testing.T) {
	kernel, events := simulated(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx, newLogger(io.Discard, events), time.Millisecond)
	}()
	tool, err := kernel.Attach(ueventstest.Perf, "slogmulti_debug")
	require.NoError(t, err)
	testscale.Eventually(t, func() bool { return len(tool.Records()) > 0 }, "no record")
	tool.Detach()
	stop()
	<-ended
}

// text returns a record as perf script prints it.
func text(t *testing.T, raw ueventstest.Record) string {
	t.Helper()
	decoder, err := typed.NewDecoder(raw.Declaration, nil)
	require.NoError(t, err)
	record, err := decoder.Decode(raw.Payload)
	require.NoError(t, err)
	return record.String()
}

func TestMain(m *testing.M) { leakcheck.Main(m) }
