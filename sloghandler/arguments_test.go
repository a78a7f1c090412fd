package sloghandler_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestBadArguments: New reports a bad argument on every machine, in one short error, before it asks the kernel for anything. The
// handler can be used.
func TestBadArguments(t *testing.T) {
	for _, c := range []struct {
		name    string
		app     string
		options sloghandler.Options
		says    string // part of the error
	}{
		{"no name", "", sloghandler.Options{}, "name"},
		{"dash in the name", "my-app", sloghandler.Options{}, "my_app"},
		{"several bad characters", "my app/v2.1", sloghandler.Options{}, "my_app_v2_1"},
		{"digit first", "7zip", sloghandler.Options{}, "_7zip"},
		{"name too long", strings.Repeat("a", 300), sloghandler.Options{}, "300"},
		{"encoding", "app", sloghandler.Options{Encoding: 9}, "Encoding"},
		{"duplicates", "app", sloghandler.Options{Duplicates: 7}, "Duplicates"},
		{"naming", "app", sloghandler.Options{Naming: 200}, "Naming"},
		{"negative limit", "app", sloghandler.Options{MaxPayload: -1}, "MaxPayload"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check := func(h *sloghandler.Handler, err error) {
				t.Helper()
				require.NotNil(t, h)
				slog.New(h).With("a", 1).WithGroup("g").Error("goes nowhere")
				assert.False(t, h.Enabled(t.Context(), slog.LevelError))
				if assert.ErrorIs(t, err, tracepoint.ErrInvalid) {
					assert.ErrorContains(t, err, c.says)
					assert.Less(t, len(err.Error()), 250+2*len(c.app), err.Error())
					assert.NotContains(t, err.Error(), "\n", "one error")
				}
				assert.NoError(t, h.Close())
			}
			k := ueventstest.New(t, nil)
			p := k.Provider()
			o := c.options
			o.Provider = p
			h, err := sloghandler.New(c.app, &o)
			assert.Empty(t, k.Events(), "the kernel was asked")
			check(h, err)
			require.NoError(t, p.Close())

			t.Setenv(uevents.EnvDataFile, t.TempDir()+"/user_events_data")
			check(sloghandler.New(c.app, &c.options))
		})
	}
}
