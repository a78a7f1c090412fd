package main

import (
	"errors"
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
		failure string
	}{
		{
			name:    "done",
			frames:  []frame{ready, output, done},
			limits:  limits{boot: never, silence: never, total: never},
			handled: []frame{ready, output},
		},
		{
			name:    "done, no limits",
			frames:  []frame{ready, done},
			limits:  limits{boot: never},
			handled: []frame{ready},
		},
		{
			name:    "stops early",
			frames:  []frame{ready, output},
			limits:  limits{boot: never, silence: never, total: never},
			handled: []frame{ready, output},
			failure: "the guest stopped before its work was done",
		},
		{
			name:    "never connects",
			limits:  limits{boot: never, silence: never, total: never},
			failure: "the guest stopped before its work was done",
		},
		{
			name:    "does not come up",
			hangs:   true,
			limits:  limits{boot: time.Millisecond, silence: never, total: never},
			failure: "the guest did not come up within 1ms",
		},
		{
			name:    "hangs",
			frames:  []frame{ready, output},
			hangs:   true,
			limits:  limits{boot: never, silence: 10 * time.Millisecond, total: never},
			handled: []frame{ready, output},
			failure: "the guest hung: nothing came from it for 10ms",
		},
		{
			name:    "takes too long",
			frames:  []frame{ready},
			hangs:   true,
			limits:  limits{boot: never, silence: never, total: 10 * time.Millisecond},
			handled: []frame{ready},
			failure: "the guest was not done after 10ms",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			frames := make(chan frame, len(test.frames))
			for _, f := range test.frames {
				frames <- f
			}
			if !test.hangs {
				close(frames)
			}
			var handled []frame
			end, err := follow(frames, test.limits, func(f frame) error {
				handled = append(handled, f)
				return nil
			})
			require.NoError(t, err)
			assert.Equal(t, test.handled, handled)
			assert.Equal(t, test.failure, end.failure)
			assert.Equal(t, test.failure == "", end.finished)
			assert.Equal(t, len(test.frames) > 0, end.bootTime > 0)
		})
	}
}

func TestFollowStopsOnError(t *testing.T) {
	broken := errors.New("broken pipe")
	frames := make(chan frame, 1)
	frames <- frame{Kind: frameReady}
	_, err := follow(frames, limits{boot: time.Hour}, func(frame) error { return broken })
	assert.ErrorIs(t, err, broken)
}
