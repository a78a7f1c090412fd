package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/uevents"
)

// TestTimeline records the service and the scheduler: spans, log records and context switches
// are on one timeline.
func TestTimeline(t *testing.T) {
	kerneltest.Require(t)
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	defer p.Close()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, io.Discard, p) }()
	registered := func() bool {
		_, err := os.Stat("/sys/kernel/tracing/events/user_events/service_span_start")
		return err == nil
	}
	require.Eventually(t, registered, 20*time.Second, 10*time.Millisecond)

	data := filepath.Join(t.TempDir(), "perf.data")
	out, err := exec.Command("perf", "record", "-a", "-o", data, "-e", "user_events:service_*", "-e", "sched:sched_switch", "--", "sleep", "2").CombinedOutput()
	require.NoError(t, err, "%s", out)
	stop()
	require.NoError(t, <-done)
	script, err := exec.Command("perf", "script", "-i", data, "-F", "comm,tid,time,event,trace").CombinedOutput()
	require.NoError(t, err)
	// A client's request starts, the server's inside of it, threads are switched, the database
	// is asked, the record is logged, and all ends.
	assert.Regexp(t, regexp.MustCompile(`(?s)service_span_start: .*?kind=3 .*?name=HTTP GET.*?`+
		`service_span_start: .*?parent_is_remote=1 .*?kind=2 .*?`+
		`service_span: .*?scope_name=github.com/XSAM/otelsql.*?`+
		`service_info: .*?message=user served.*?`+
		`service_span: .*?kind=2 .*?name=GET /users/\{id\}`), string(script))
	assert.Regexp(t, `sched:sched_switch: `, string(script))
}
