package sloghandler_test

import (
	"context"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestEventHeaderIsNotTakenForCommonSchema: neither a tool that enables the tracepoints of keyword 1 nor one that looks for events
// called Log gets records without that layout.
func TestEventHeaderIsNotTakenForCommonSchema(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{Encoding: sloghandler.EventHeader})
	slog.New(h).Info("m", "k", "v")
	raw := tr.Records()
	require.Len(t, raw, 1)
	ev, err := eventheader.Decode(raw[0].Declaration.Name, raw[0].Payload)
	require.NoError(t, err)
	assert.Equal(t, "slog", ev.Name)
	assert.Equal(t, "app_L4K2", raw[0].Declaration.Name)
	assert.Zero(t, ev.Tracepoint.Keyword&1)
}

// TestLeastLimitOfEventHeader: the least limit that New accepts, on every machine, is the size of a record whose own fields are all there, with
// nothing left of their texts but the mark.
func TestLeastLimitOfEventHeader(t *testing.T) {
	testscale.HostOnly(t)
	unsupported, err := uevents.Open(&uevents.Options{Path: t.TempDir()})
	require.Error(t, err)
	ids := func(context.Context) ([16]byte, [8]byte) { return [16]byte{1}, [8]byte{2} }
	long := strings.Repeat("long ", 1000)
	for _, tt := range []struct {
		name, message string
		o             sloghandler.Options
		fields        []string
	}{
		{"level", long, sloghandler.Options{}, []string{"time_unix_nano", "level", "message"}},
		{"all fields", long, sloghandler.Options{AddSource: true, TraceContext: ids}, []string{"time_unix_nano", "level", "trace_id", "span_id", "message", "source"}},
		{
			"declaration", "declared",
			sloghandler.Options{TraceContext: ids, Declarations: []sloghandler.AnyDeclaration{longName}},
			[]string{"time_unix_nano", "level", "trace_id", "span_id", "n", "long_long_long_long_long_long_long_long_long_long_long_long_"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Encoding = sloghandler.EventHeader
			k := ueventstest.New(t, nil)
			p := k.Provider()
			defer func() { require.NoError(t, p.Close()) }()
			for tt.o.MaxPayload = 1; ; tt.o.MaxPayload++ {
				tt.o.Provider = unsupported
				h, err := sloghandler.New("app", &tt.o)
				require.Error(t, err)
				require.NoError(t, h.Close())
				tt.o.Provider = p
				h, invalid := sloghandler.New("app", &tt.o)
				defer func() { require.NoError(t, h.Close()) }()
				if invalid != nil {
					require.ErrorIs(t, invalid, fs.ErrInvalid)
					require.Equal(t, invalid.Error(), err.Error())
					require.NoError(t, h.Close())
					continue
				}
				require.NotErrorIs(t, err, tracepoint.ErrInvalid)
				tr, err := k.Attach(ueventstest.Ftrace, "app_*")
				require.NoError(t, err)
				r := slog.NewRecord(time.Now(), slog.LevelInfo, tt.message, here())
				r.AddAttrs(slog.Int("n", 1), slog.String(tt.fields[len(tt.fields)-1], long), slog.Bool("other", true))
				require.NoError(t, h.Handle(t.Context(), r))
				raw := tr.Records()
				require.Len(t, raw, 1)
				assert.Len(t, raw[0].Payload, tt.o.MaxPayload)
				ev, err := eventheader.Decode(raw[0].Declaration.Name, raw[0].Payload)
				require.NoError(t, err)
				tree, err := ev.Tree()
				require.NoError(t, err)
				var names []string
				for _, n := range tree {
					names = append(names, n.Name)
					if n.Name == "trace_id" {
						assert.Equal(t, "01000000000000000000000000000000", n.Value)
					}
				}
				assert.Equal(t, append(tt.fields, eventheader.TruncatedField), names)
				return
			}
		})
	}
}
