//go:build go1.26

package main

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestServe: an attached tool gets the debug records of the service, and the log file has the others as before.
func TestServe(t *testing.T) {
	testscale.NeedLoopback(t)
	kernel := ueventstest.New(t, nil)
	p := kernel.Provider()
	events, err := sloghandler.New("webserver", &sloghandler.Options{Provider: p})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	tool, err := kernel.Attach(ueventstest.Perf, "webserver_*")
	require.NoError(t, err)
	var file syncbuffer.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewMultiHandler(slog.NewJSONHandler(&file, nil), events)))

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- serve(ctx, "127.0.0.1:0", time.Millisecond) }()
	testscale.Eventually(t, func() bool { return strings.Count(file.String(), "request served") >= 4 }, "no four requests")
	stop()
	require.NoError(t, <-served)
	http.DefaultClient.CloseIdleConnections()
	tool.Detach()

	assert.NotContains(t, file.String(), "cache miss")
	assert.Contains(t, file.String(), `"msg":"query failed","user":4,"err":"no such user"`)
	var records []string
	for _, r := range tool.Records() {
		decoder, err := typed.NewDecoder(r.Declaration, nil)
		require.NoError(t, err)
		record, err := decoder.Decode(r.Payload)
		require.NoError(t, err)
		records = append(records, record.String())
	}
	all := strings.Join(records, "\n")
	for _, want := range []string{
		`message=cache miss source= attributes={"user":2,"cached":0}`, `message=query failed source= attributes={"user":4,"err":"no such user"}`,
		`message=request served source= attributes={"route":"GET /users/{id}","status":404}`,
	} {
		assert.Contains(t, all, want)
	}
}
