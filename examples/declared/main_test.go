package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/examples/internal/decoded"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// TestWork: calls of slog and of the declaration's logger are records of one event with the declared fields.
func TestWork(t *testing.T) {
	kernel := ueventstest.New(t, nil)
	p := kernel.Provider()
	defer func() { require.NoError(t, p.Close()) }()
	events, err := sloghandler.New("worker", &sloghandler.Options{Provider: p, Declarations: []sloghandler.AnyDeclaration{jobDone}})
	require.NoError(t, err)
	tool, err := kernel.Attach(ueventstest.Perf, "worker_job_done")
	require.NoError(t, err)

	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); work(ctx, events, time.Millisecond) }()
	testscale.Eventually(t, func() bool { return events.Stats()["worker_job_done"].Written >= 10 }, "no ten jobs")
	stop()
	<-done

	records, err := decoded.Records(tool)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(records), 10)
	for n, r := range records {
		assert.Equal(t, "worker_job_done", r["event"])
		assert.Equal(t, []string{"mail", "reports"}[n%2], r["queue"])
		assert.Equal(t, n%10 == 9, r["retries"] == "1", "%v", r)
		assert.Regexp(t, `^\d+$`, r["latency_ns"])
	}
}
