package ueventstest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestProvider drives the public packages together, as a user's test does.
func TestProvider(t *testing.T) {
	for _, abi := range []uevents.ABI{uevents.ABIStatusByte, uevents.ABIStatusBit, uevents.ABIEnableAddress} {
		t.Run(abi.String(), func(t *testing.T) {
			k := ueventstest.New(t, &ueventstest.Options{ABI: abi})
			p := k.Provider()
			defer func() { assert.NoError(t, p.Close()) }()
			assert.Equal(t, abi, p.ABI())
			d, err := tracepoint.Parse("myapp_info u32 level; __rel_loc char[] message")
			require.NoError(t, err)
			event, err := p.Register(d, nil)
			require.NoError(t, err)
			assert.False(t, event.Enabled())

			tool, err := k.Attach(ueventstest.Ftrace, "user_events:myapp_info")
			require.NoError(t, err)
			assert.True(t, event.Enabled())

			buf := make([]byte, uevents.IndexSize)
			buf = binary.NativeEndian.AppendUint32(buf, 9)
			buf = binary.NativeEndian.AppendUint32(buf, 6<<16)
			buf = append(buf, "hello\x00"...)
			_, err = event.WriteRecord(buf)
			require.NoError(t, err)
			r, err := tool.Next(t.Context())
			require.NoError(t, err)
			assert.True(t, bytes.HasSuffix(r.Payload, []byte("hello\x00")))
			assert.True(t, d.Equal(r.Declaration))

			tool.Detach()
			assert.False(t, event.Enabled())
			written, err := event.WriteRecord(buf)
			assert.NoError(t, err)
			assert.False(t, written)
			require.NoError(t, p.Close())
			_, err = event.WriteRecord(buf)
			assert.ErrorIs(t, err, uevents.ErrClosed)
		})
	}
}

// TestProvidersAreIndependent has that closing one program's provider leaves another's
// alone.
func TestProvidersAreIndependent(t *testing.T) {
	k := ueventstest.New(t, nil)
	d := tracepoint.Declaration{Name: "shared"}
	a, b := k.Provider(), k.Provider()
	first, err := a.Register(d, nil)
	require.NoError(t, err)
	second, err := b.Register(d, nil)
	require.NoError(t, err)
	_, err = k.Attach(ueventstest.Perf, "shared")
	require.NoError(t, err)
	assert.True(t, first.Enabled() && second.Enabled())
	require.NoError(t, a.Close())
	assert.False(t, first.Enabled())
	assert.True(t, second.Enabled())
	require.NoError(t, b.Close())
}

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

func TestMain(m *testing.M) { leakcheck.Main(m) }
