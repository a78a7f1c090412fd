package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

var printTimeline = flag.Bool("timeline", false, "print the recorded events of one request, from which a picture in the documents is drawn")

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
	if *printTimeline {
		for line := range bytes.Lines(oneRequest(t, script)) {
			fmt.Printf("timeline: %s", line)
		}
	}
}

var (
	traceID = regexp.MustCompile(`\btrace_id=[0-9a-f]{32}\b`)
	seconds = regexp.MustCompile(`\] +(\d+\.\d{9}): `)
)

// oneRequest returns the lines from the start to the end of the client's shortest request during which threads were switched:
// an emulated machine stands still now and then.
func oneRequest(t *testing.T, script []byte) []byte {
	at := func(line []byte) float64 {
		m := seconds.FindSubmatch(line)
		require.NotNil(t, m, "%s", line)
		v, err := strconv.ParseFloat(string(m[1]), 64)
		require.NoError(t, err)
		return v
	}
	var best, request, trace []byte
	shortest, begin := math.MaxFloat64, 0.0
	for line := range bytes.Lines(script) {
		if bytes.Contains(line, []byte("service_span_start: ")) && bytes.Contains(line, []byte("name=HTTP GET")) {
			request, trace, begin = nil, traceID.Find(line), at(line)
		}
		if trace == nil {
			continue
		}
		request = append(request, line...)
		if bytes.Contains(line, []byte("service_span: ")) && bytes.Contains(line, []byte("name=HTTP GET")) && bytes.Contains(line, trace) {
			if took := at(line) - begin; took < shortest && bytes.Contains(request, []byte("sched_switch")) {
				best, shortest = request, took
			}
			trace = nil
		}
	}
	require.NotNil(t, best, "no request ended")
	return best
}
