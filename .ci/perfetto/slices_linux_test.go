package perfetto_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/kerneltest"
)

// Spans of the SDK and of our own provider are slices as Perfetto's documentation of kernel track events wants them, on one
// timeline with the scheduler's events.
func TestSlices(t *testing.T) {
	fs := kerneltest.Require(t)
	processor, err := ueventstrace.NewProcessor("perfsdk", ueventstrace.WithPerfettoSlices())
	require.NoError(t, err)
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor))
	t.Cleanup(func() { assert.NoError(t, sdk.Shutdown(context.Background())) })
	own, err := ueventstrace.NewTracerProvider("perfown", ueventstrace.WithPerfettoSlices())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, own.Shutdown(context.Background())) })
	providers := map[string]trace.TracerProvider{"perfsdk_slice": sdk, "perfown_slice": own}

	recorder := record(t, fs, "user_events/perfsdk_slice", "user_events/perfown_slice", "sched/sched_switch")
	for _, provider := range providers {
		writeSpans(provider.Tracer("my/package"))
	}
	got := recorder.stop(t)
	for event := range providers {
		t.Run(event, func(t *testing.T) {
			requireTrackEvent(t, got.types[event])
			slices := draw(t, got, event)
			byName := map[string][]slice{}
			for _, s := range slices {
				byName[s.name] = append(byName[s.name], s)
			}
			require.Len(t, byName["GET /users/{id}"], workers*requests)
			require.Len(t, byName["query"], workers*requests)
			require.Len(t, byName["scan"], workers*requests)
			for _, s := range slices {
				assert.Equal(t, map[string]string{
					"GET /users/{id}": "",
					"query":           "GET /users/{id}",
					"scan":            "query",
					"prefetch":        "", // beside query, and at last without a parent
					"sleep":           "",
				}[s.name], s.inside, s.name)
			}
			require.Len(t, byName["prefetch"], workers*requests)
			require.Len(t, byName["sleep"], 1)
			requireOneTimeline(t, got, event, byName["sleep"][0])
		})
	}
}

const workers, requests = 8, 25

// writeSpans writes spans of several goroutines, of which some overlap or outlive their parents, and
// one that waits.
func writeSpans(tracer trace.Tracer) {
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range requests {
				ctx, request := tracer.Start(context.Background(), "GET /users/{id}")
				inQuery, query := tracer.Start(ctx, "query")
				_, prefetch := tracer.Start(ctx, "prefetch")
				_, scan := tracer.Start(inQuery, "scan")
				scan.End()
				query.End()
				request.End()
				prefetch.End()
			}
		})
	}
	all.Wait()
	_, sleep := tracer.Start(context.Background(), "sleep")
	time.Sleep(20 * time.Millisecond) //nolint:forbidigo // the span's length
	sleep.End()
}

// requireTrackEvent checks the fields of an event: Perfetto draws it if a text and a number have these names.
func requireTrackEvent(t *testing.T, types map[string]int) {
	t.Helper()
	integers := []int{typeInt32, typeInt64, typeUint32, typeUint64}
	require.Contains(t, integers, types["track_event_type"], "track_event_type: %v", types)
	require.Contains(t, integers, types["scope_track"], "scope_track: %v", types)
	require.Equal(t, typeString, types["slice_name"], "slice_name: %v", types)
	require.Equal(t, typeString, types["track_name"], "track_name: %v", types)
}

// slice is a slice that Perfetto draws.
type slice struct {
	name, inside string // inside: the name of the slice around it
	begin, end   arrived
}

// draw does what Perfetto does with kernel track events: a track is an event, the name of a track and
// a scope, B opens a slice on it, and E closes the one opened last, whatever E says.
func draw(t *testing.T, trace *recorded, event string) (list []slice) {
	t.Helper()
	open := map[[2]string][]slice{}
	for _, a := range trace.events {
		if a.event != event {
			continue
		}
		track := [2]string{a.fields["track_name"], a.fields["scope_track"]}
		stack := open[track]
		switch a.fields["track_event_type"] {
		case fmt.Sprint('B'):
			s := slice{begin: a}
			_, err := fmt.Sscanf(a.fields["slice_name"], "%q", &s.name)
			require.NoError(t, err, "slice_name %s", a.fields["slice_name"])
			if len(stack) > 0 {
				s.inside = stack[len(stack)-1].name
			}
			open[track] = append(stack, s)
		case fmt.Sprint('E'):
			require.NotEmpty(t, stack, "an end on an empty track: %v", a)
			s := stack[len(stack)-1]
			require.Equal(t, s.begin.fields["span_id"], a.fields["span_id"], "%q is closed by the end of %s", s.name, a.fields["slice_name"])
			s.end = a
			list = append(list, s)
			open[track] = stack[:len(stack)-1]
		default:
			require.Fail(t, "neither begins nor ends", "%v", a)
		}
	}
	for track, stack := range open {
		require.Empty(t, stack, "slices without an end on track %v", track)
	}
	return list
}

// requireOneTimeline checks the slices beside the context switches: a slice is of the thread that was
// switched to, and the thread of a span that waits is switched away from.
func requireOneTimeline(t *testing.T, trace *recorded, event string, waits slice) {
	t.Helper()
	running := map[uint64]string{} // thread by CPU
	compared, away := 0, false
	for _, a := range trace.events {
		switch a.event {
		case "sched_switch":
			running[a.cpu] = a.fields["next_pid"]
			thread := fmt.Sprint(waits.begin.thread)
			away = away || a.fields["prev_pid"] == thread && a.time > waits.begin.time && a.time < waits.end.time
		case event:
			if thread, known := running[a.cpu]; known {
				require.Equal(t, thread, fmt.Sprint(a.thread), "the thread of %v", a)
				compared++
			}
		}
	}
	assert.Positive(t, compared, "no slice after a context switch")
	assert.True(t, away, "no context switch while the span waits")
}
