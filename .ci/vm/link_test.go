package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFollow(t *testing.T) {
	const never = time.Hour
	ready, done := frame{Kind: frameReady}, frame{Kind: frameDone}
	output := frame{Kind: frameOutput, Data: []byte("x")}
	tests := []struct {
		name    string
		frames  []frame
		hangs   bool // instead of hanging up after the last frame
		limits  limits
		handled []frame
		asked   int // to stop
		failure string
	}{
		{
			name:    "done",
			asked:   1,
			frames:  []frame{ready, output, done},
			limits:  limits{boot: never, silence: never, answer: never, total: never},
			handled: []frame{ready, output},
		},
		{
			name:    "done, no limits",
			asked:   1,
			frames:  []frame{ready, done},
			limits:  limits{boot: never},
			handled: []frame{ready},
		},
		{
			name:    "stops early",
			frames:  []frame{ready, output},
			limits:  limits{boot: never, silence: never, answer: never, total: never},
			handled: []frame{ready, output},
			failure: "the guest stopped before its work was done",
		},
		{
			name:    "never connects",
			limits:  limits{boot: never},
			failure: "the guest stopped before its work was done",
		},
		{
			name:    "does not come up",
			hangs:   true,
			limits:  limits{boot: time.Millisecond, silence: never, answer: never, total: never},
			failure: "the guest did not come up within 1ms",
		},
		{
			name:    "hangs",
			frames:  []frame{ready, output},
			hangs:   true,
			limits:  limits{boot: never, silence: 10 * time.Millisecond, answer: time.Millisecond, total: never},
			handled: []frame{ready, output},
			asked:   2,
			failure: "the guest hung: it printed nothing for 10ms and did not stop its tests",
		},
		{
			name:    "takes too long",
			frames:  []frame{ready},
			hangs:   true,
			limits:  limits{boot: never, silence: never, answer: never, total: 10 * time.Millisecond},
			handled: []frame{ready},
			failure: "the guest was not done after 10ms",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := link{frames: make(chan frame, len(test.frames)), stop: make(chan byte, 3)}
			for _, f := range test.frames {
				l.frames <- f
			}
			if !test.hangs {
				close(l.frames)
			}
			var handled []frame
			end, err := l.follow(test.limits, func(f frame) error {
				handled = append(handled, f)
				return nil
			})
			require.NoError(t, err)
			assert.Equal(t, test.handled, handled)
			assert.Equal(t, test.failure, end.failure)
			assert.Equal(t, test.failure == "", end.finished)
			assert.Equal(t, len(test.frames) > 0, end.bootTime > 0)
			assert.Len(t, l.stop, test.asked)
		})
	}
}

func TestFollowStopsOnError(t *testing.T) {
	broken := errors.New("broken pipe")
	l := link{frames: make(chan frame, 1)}
	l.frames <- frame{Kind: frameReady}
	_, err := l.follow(limits{boot: time.Hour}, func(frame) error { return broken })
	assert.ErrorIs(t, err, broken)
}

// A guest that is asked to stop a test in time goes on with the next one.
func TestServe(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const mark = "\x00mark"
	l := link{frames: make(chan frame), stop: make(chan byte, 1)}
	go l.serve(ctx, listener, mark)

	guest := make(chan error, 1)
	go func() {
		guest <- func() error {
			conn, err := net.Dial("unix", socket)
			if err != nil {
				return err
			}
			w := frameWriter{w: conn, mark: mark}
			if err := w.send(frame{Kind: frameReady}); err != nil {
				return err
			}
			if err := w.send(frame{Kind: frameExit}); err != nil {
				return err
			}
			// Turn 1: silent until asked.
			request := make([]byte, 1)
			if _, err := conn.Read(request); err != nil || request[0] != 1 {
				return fmt.Errorf("asked %d: %w", request[0], err)
			}
			if _, err := conn.Write([]byte("SIGQUIT: quit\n")); err != nil {
				return err
			}
			if err := w.send(frame{Kind: frameExit, Failure: "hung"}); err != nil {
				return err
			}
			if err := w.send(frame{Kind: frameDone}); err != nil {
				return err
			}
			// There may be more requests for turn 1. For turn 2, the host knows.
			for request[0] != 2 {
				if _, err := conn.Read(request); err != nil {
					return err
				}
			}
			return conn.Close()
		}()
	}()
	var handled []frame
	lim := limits{boot: time.Minute, silence: 20 * time.Millisecond, answer: time.Minute, total: time.Minute}
	end, err := l.follow(lim, func(f frame) error {
		handled = append(handled, f)
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, <-guest)
	assert.True(t, end.finished)
	assert.Empty(t, end.failure)
	assert.Equal(t, []frame{
		{Kind: frameReady},
		{Kind: frameExit},
		{Kind: frameOutput, Data: []byte("SIGQUIT: quit\n")},
		{Kind: frameExit, Failure: "hung"},
	}, handled)
}
