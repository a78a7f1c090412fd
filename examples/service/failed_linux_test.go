package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tool/tail"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/uevents"
)

// TestFailedRequests: of 5,000 requests a second, of which one in 1,000 fails, all records of those that fail are let through, debug
// records and spans with their parts, and none of others.
func TestFailedRequests(t *testing.T) {
	testscale.NeedLoopback(t)
	requests, rings := 10_000, 64<<20 // room for all on one processor: the machine may be slow
	if testscale.Guest() {
		kerneltest.Require(t)
		requests, rings = 2000, 32<<20
	} else {
		t.Setenv(uevents.EnvTransport, uevents.TransportMemory.String())
	}
	environment(t, "")
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	defer p.Close()
	ctx, stop := context.WithCancel(t.Context())
	var out syncbuffer.Buffer
	done := make(chan error, 1)
	go func() { done <- run(ctx, options{listen: "127.0.0.1:0"}, &out, p) }()
	url := address(t, &out)

	r, err := reader.Open(&reader.Options{
		Selection: reader.Selection{Events: []string{"service"}, Processes: []int{os.Getpid()}}, BufferSize: rings, Reuse: true,
		Notify: func(n reader.Notice) { t.Logf("notice: %+v", n) },
	})
	require.NoError(t, err)
	defer r.Close()
	when, err := where.Parse("level >= warn")
	require.NoError(t, err)
	// As long as the test may take.
	buffer, err := tail.New(tail.Options{When: when, By: "trace_id", Window: time.Hour, Bytes: 256 << 20})
	require.NoError(t, err)
	all, shown := map[[16]byte]map[string]int{}, map[[16]byte]map[string]int{}
	add := func(to map[[16]byte]map[string]int, ev *record.Record) {
		if to[ev.TraceID] == nil {
			to[ev.TraceID] = map[string]int{}
		}
		to[ev.TraceID][ev.Name+" "+ev.Message]++
	}
	read := make(chan error, 1)
	go func() {
		var ev record.Record
		for {
			if err := r.Next(&ev); err != nil {
				read <- err
				return
			}
			add(all, &ev)
			_ = buffer.Pass(&ev, func(through *record.Record) error { add(shown, through); return nil })
		}
	}()

	requestUsers(t, url, requests)
	stop()
	require.NoError(t, <-done)
	require.NoError(t, r.Stop())
	require.ErrorIs(t, <-read, io.EOF)
	st, err := r.Stats()
	require.NoError(t, err)
	require.Zero(t, st.Total.Lost)
	assert.Len(t, shown, requests/1000)
	for trace, records := range shown {
		assert.Equal(t, all[trace], records)
		assert.Equal(t, 1, records["service_warn no such user"])
		assert.Equal(t, 1, records["service_debug looking for user"])
		assert.Equal(t, 1, records["service_debug queried"])
		assert.Equal(t, 1, records["service_span GET /users/{id}"])
		assert.GreaterOrEqual(t, records["service_span sql.conn.query"], 1, "%v", records)
	}
	t.Log(len(all), "traces;", st.Selected, "records;", fmt.Sprintf("%+v", buffer.Stats()))
}

// requestUsers requests users, 5,000 a second, of which one in 1,000 does not exist.
func requestUsers(t *testing.T, url string, n int) {
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	defer client.CloseIdleConnections()
	begin := time.Now()
	var wg sync.WaitGroup
	const clients = 8
	for c := range clients {
		wg.Go(func() {
			for i := c; i < n; i += clients {
				time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Second / 5000))) //nolint:forbidigo // pacing of the load
				user := 1 + i%3
				if i%1000 == 999 {
					user = 9
				}
				resp, err := client.Get(fmt.Sprintf("%s/users/%d", url, user))
				if !assert.NoError(t, err) {
					return
				}
				_, err = io.Copy(io.Discard, resp.Body)
				assert.NoError(t, errors.Join(err, resp.Body.Close()))
			}
		})
	}
	wg.Wait()
}
