package perfetto_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
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

// Fields of Perfetto's messages (protos/perfetto/trace) and of descriptor.proto.
const (
	tracePacket        = 1
	packetFtraceEvents = 1
	bundleCPU          = 1
	bundleEvent        = 2
	bundleLost         = 3
	bundleDescriptor   = 11 // of an event that Perfetto does not know
	eventTime          = 1
	eventThread        = 2
	eventSchedSwitch   = 4
	descriptorNumber   = 1 // which field of an event it describes
	descriptorMessage  = 2
	messageName        = 1
	messageField       = 2
	fieldName          = 1
	fieldNumber        = 3
	fieldType          = 5
)

// Types of fields, of which Perfetto takes texts and integers for its tracks.
const (
	typeInt64  = 3
	typeUint64 = 4
	typeInt32  = 5
	typeString = 9
	typeUint32 = 13
)

// switched describes sched_switch, which Perfetto knows.
var switched = described{name: "sched_switch", fields: map[int]field{2: {"prev_pid", typeInt32}, 6: {"next_pid", typeInt32}}}

// protoField is a field of a Protocol Buffers message: bytes or a number.
type protoField struct {
	number int
	bytes  []byte // nil: a number
	value  uint64
}

// parse reads a message.
func parse(t *testing.T, data []byte) (list []protoField) {
	t.Helper()
	varint := func() uint64 {
		v, n := binary.Uvarint(data)
		require.Positive(t, n, "no Protocol Buffers message")
		data = data[n:]
		return v
	}
	take := func(n uint64) []byte {
		require.LessOrEqual(t, n, uint64(len(data)), "no Protocol Buffers message")
		taken := data[:n:n]
		data = data[n:]
		return taken
	}
	for len(data) > 0 {
		key := varint()
		f := protoField{number: int(key >> 3)}
		switch key & 7 {
		case 0:
			f.value = varint()
		case 1:
			f.value = binary.LittleEndian.Uint64(take(8))
		case 2:
			f.bytes = take(varint())
		case 5:
			f.value = uint64(binary.LittleEndian.Uint32(take(4)))
		default:
			require.Fail(t, "no Protocol Buffers message", "wire type %d", key&7)
		}
		list = append(list, f)
	}
	return list
}

// arrived is an event of a trace: its fields, a string as %q and a number as decimal digits.
type arrived struct {
	event       string
	cpu, thread uint64
	time        uint64 // nanoseconds
	fields      map[string]string
}

// shown is a value as arrived has it.
func (f protoField) shown() string {
	if f.bytes != nil {
		return fmt.Sprintf("%q", f.bytes)
	}
	return fmt.Sprint(f.value)
}

// described is an event: its name and its fields, by number.
type described struct {
	name   string
	fields map[int]field
}

// field is a field of an event: its name and the type that Perfetto gave it.
type field struct {
	name string
	kind int
}

// recorded is a trace: sched_switch and the events that Perfetto does not know, such as user_events, in the
// order of their times, and what it says about the latter, by their names.
type recorded struct {
	events []arrived
	types  map[string]map[string]int
}

// traceOf reads a trace. It fails the test if Perfetto lost events.
func traceOf(t *testing.T, trace []byte) *recorded {
	t.Helper()
	descriptors := map[int]described{eventSchedSwitch: switched}
	list := &recorded{types: map[string]map[string]int{}}
	type raw struct {
		cpu   uint64
		bytes []byte
	}
	var events []raw
	for _, packet := range parse(t, trace) {
		if packet.number != tracePacket {
			continue
		}
		for _, bundle := range parse(t, packet.bytes) {
			if bundle.number != packetFtraceEvents {
				continue
			}
			var cpu uint64
			for _, f := range parse(t, bundle.bytes) {
				switch f.number {
				case bundleCPU:
					cpu = f.value
				case bundleLost:
					require.Zero(t, f.value, "Perfetto lost events")
				case bundleDescriptor:
					id, d := descriptorOf(t, f.bytes)
					descriptors[id] = d
					list.types[d.name] = map[string]int{}
					for _, f := range d.fields {
						list.types[d.name][f.name] = f.kind
					}
				case bundleEvent:
					events = append(events, raw{cpu, f.bytes})
				}
			}
		}
	}
	for _, event := range events {
		a := arrived{cpu: event.cpu, fields: map[string]string{}}
		for _, f := range parse(t, event.bytes) {
			switch f.number {
			case eventTime:
				a.time = f.value
			case eventThread:
				a.thread = f.value
			}
			if d, ok := descriptors[f.number]; ok {
				a.event = d.name
				for _, v := range parse(t, f.bytes) {
					a.fields[d.fields[v.number].name] = v.shown()
				}
			}
		}
		if a.event != "" {
			list.events = append(list.events, a)
		}
	}
	slices.SortStableFunc(list.events, func(a, b arrived) int { return cmp.Compare(a.time, b.time) })
	return list
}

func descriptorOf(t *testing.T, data []byte) (id int, d described) {
	t.Helper()
	d.fields = map[int]field{}
	for _, f := range parse(t, data) {
		switch f.number {
		case descriptorNumber:
			id = int(f.value)
		case descriptorMessage:
			for _, m := range parse(t, f.bytes) {
				switch m.number {
				case messageName:
					d.name = string(m.bytes)
				case messageField:
					var f field
					var number int
					for _, p := range parse(t, m.bytes) {
						switch p.number {
						case fieldName:
							f.name = string(p.bytes)
						case fieldNumber:
							number = int(p.value)
						case fieldType:
							f.kind = int(p.value)
						}
					}
					d.fields[number] = f
				}
			}
		}
	}
	return id, d
}

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
