package main

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// TestTimeline records the service and the scheduler: spans, log records and context switches
// are on one timeline.
func TestTimeline(t *testing.T) {
	fs := kerneltest.RequireTool(t, "perf")
	environment(t, newBackend(t).URL) // the SDK's spans are one trace, from the client through the server
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	defer p.Close()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, options{listen: "127.0.0.1:0", load: 10}, io.Discard, p) }()
	testscale.Eventually(t, func() bool {
		_, err := fs.Event("service_span_start").ID()
		return err == nil
	}, "the service has not registered its events")

	data := filepath.Join(t.TempDir(), "perf.data")
	kerneltest.WhileRecording(t, func() {
		instance := kerneltest.NewInstance(t, fs, 256)
		instance.Attach("service_info")
		served := 0
		testscale.Eventually(t, func() bool { served += len(instance.Records()); return served >= 10 }, "no ten requests")
	}, "perf", "record", "-a", "-o", data, "-e", "user_events:service_*", "-e", "sched:sched_switch", "--")
	stop()
	require.NoError(t, <-done)
	script, err := exec.Command("perf", "script", "-i", data, "--ns", "-F", "comm,tid,cpu,time,event,trace").CombinedOutput()
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
