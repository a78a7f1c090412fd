package ueventstest_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// heartbeat is a service: it logs once a minute.
func heartbeat(ctx context.Context, log *slog.Logger) {
	for tick := time.Tick(time.Minute); ; { //nolint:forbidigo // in a synctest bubble
		select {
		case <-tick:
			log.Info("alive")
		case <-ctx.Done():
			return
		}
	}
}

// TestHeartbeat is the example of the package comment.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := ueventstest.New(t, nil)
		p := k.Provider()
		defer p.Close()
		h, err := sloghandler.New("myapp", &sloghandler.Options{Provider: p})
		require.NoError(t, err)
		tool, err := k.Attach(ueventstest.Ftrace, "myapp_info")
		require.NoError(t, err)
		ctx, stop := context.WithTimeout(t.Context(), time.Hour+time.Second) //nolint:forbidigo // in a synctest bubble
		defer stop()
		heartbeat(ctx, slog.New(h)) // an hour passes at once
		assert.Len(t, tool.Records(), 60)
	})
}

// TestBubbleWaits: time passes while a tool waits for a record.
func TestBubbleWaits(t *testing.T) {
	k := ueventstest.New(t, nil)
	p := k.Provider()
	defer p.Close()
	var tool *ueventstest.Tool
	synctest.Test(t, func(t *testing.T) {
		ev, err := p.Register(tracepoint.Declaration{Name: "ev"}, nil)
		require.NoError(t, err)
		tool, err = k.Attach(ueventstest.Ftrace, "ev")
		require.NoError(t, err)
		go func() {
			time.Sleep(time.Hour) //nolint:forbidigo // in a synctest bubble
			_, _ = ev.WriteRecord(make([]byte, 8))
		}()
		began := time.Now()
		_, err = tool.Next(t.Context())
		require.NoError(t, err)
		assert.Equal(t, time.Hour, time.Since(began)) //nolint:forbidigo // in a synctest bubble

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) //nolint:forbidigo // in a synctest bubble
		defer cancel()
		_, err = tool.Next(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
	tool.Detach() // outside of the bubble that it was attached in
	_, err := tool.Next(t.Context())
	assert.ErrorIs(t, err, io.EOF)
}
