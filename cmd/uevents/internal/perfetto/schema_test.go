package perfetto

import (
	"cmp"
	"encoding/json"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/userevents/userevents-go/internal/testscale"
)

// The messages of testdata/trace.proto that tests check, in the form of protojson.
type (
	packet struct {
		Timestamp uint64      `json:"timestamp,string"`
		Clock     int         `json:"timestampClockId"`
		Sequence  int         `json:"trustedPacketSequenceId"`
		Flags     int         `json:"sequenceFlags"`
		Event     *trackEvent `json:"trackEvent"`
		Track     *descriptor `json:"trackDescriptor"`
		Snapshot  *snapshot   `json:"clockSnapshot"`
		Ftrace    *bundle     `json:"ftraceEvents"`
		index     int
	}
	trackEvent struct {
		Type        string
		Track       uint64 `json:"trackUuid,string"`
		Name        string
		Categories  []string
		Flows       []string     `json:"flowIds"`
		Annotations []annotation `json:"debugAnnotations"`
		Int         string       `json:"counterValue"`
		Double      float64      `json:"doubleCounterValue"`
	}
	annotation struct {
		Name   string
		Bool   *bool        `json:"boolValue"`
		Uint   string       `json:"uintValue"`
		Int    string       `json:"intValue"`
		Double any          `json:"doubleValue"`
		String *string      `json:"stringValue"`
		Dict   []annotation `json:"dictEntries"`
		Array  []annotation `json:"arrayValues"`
	}
	descriptor struct {
		UUID    uint64 `json:"uuid,string"`
		Name    string
		Parent  uint64 `json:"parentUuid,string"`
		Process *struct {
			PID  int
			Name string `json:"processName"`
		}
		Thread *struct {
			PID  int
			TID  string
			Name string `json:"threadName"`
		}
		Counter *struct {
			Unit     string
			UnitName string
		}
	}
	snapshot struct {
		Clocks []struct {
			ID   int    `json:"clockId"`
			Time uint64 `json:"timestamp,string"`
		}
		Primary string `json:"primaryTraceClock"`
	}
	bundle struct {
		CPU   int
		Event []struct {
			Timestamp uint64 `json:"timestamp,string"`
			PID       int
			Switch    map[string]any `json:"schedSwitch"`
		}
	}
)

// traceType is the type of a trace in the schema, which protoc compiles.
var traceType = sync.OnceValues(func() (protoreflect.MessageDescriptor, error) {
	out, err := exec.Command("protoc", "--proto_path=testdata", "--descriptor_set_out=/dev/stdout", "trace.proto").Output()
	if err != nil {
		return nil, err
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(out, &set); err != nil {
		return nil, err
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, err
	}
	d, err := files.FindDescriptorByName("perfetto.protos.Trace")
	if err != nil {
		return nil, err
	}
	return d.(protoreflect.MessageDescriptor), nil
})

// decode decodes a trace with the schema, which must know all its fields, and checks the rules for all traces.
func decode(t *testing.T, data []byte) []packet {
	t.Helper()
	testscale.NeedProgram(t, "protoc")
	d, err := traceType()
	require.NoError(t, err)
	m := dynamicpb.NewMessage(d)
	require.NoError(t, proto.Unmarshal(data, m))
	requireKnown(t, m)
	text, err := protojson.Marshal(m)
	require.NoError(t, err)
	var trace struct{ Packet []packet }
	require.NoError(t, json.Unmarshal(text, &trace))
	for i := range trace.Packet {
		trace.Packet[i].index = i
	}
	requireRules(t, trace.Packet)
	return trace.Packet
}

// requireKnown fails if a message has fields that its type does not have.
func requireKnown(t *testing.T, m protoreflect.Message) {
	t.Helper()
	require.Empty(t, m.GetUnknown(), "fields of %s that the schema does not have", m.Descriptor().Name())
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				requireKnown(t, v.List().Get(i).Message())
			}
		default:
			requireKnown(t, v.Message())
		}
		return true
	})
}

// requireRules checks Perfetto's rules: clocks come first, tracks are described before their use, and each end of a
// slice closes its own beginning.
func requireRules(t *testing.T, trace []packet) {
	t.Helper()
	require.NotEmpty(t, trace)
	require.NotNil(t, trace[0].Snapshot, "the clocks are not the first")
	require.Equal(t, 1, trace[0].Flags, "SEQ_INCREMENTAL_STATE_CLEARED")
	described := map[uint64]*descriptor{}
	events := map[uint64][]packet{}
	for _, p := range trace {
		require.Equal(t, 1, p.Sequence, "trusted_packet_sequence_id, without which events are ignored")
		switch {
		case p.Track != nil:
			if p.Track.Parent != 0 {
				require.Contains(t, described, p.Track.Parent, "a parent is described later")
			}
			described[p.Track.UUID] = p.Track
		case p.Event != nil:
			require.Equal(t, 3, p.Clock, "CLOCK_MONOTONIC")
			d := described[p.Event.Track]
			require.NotNil(t, d, "a track is described later")
			require.Equal(t, d.Counter != nil, p.Event.Type == "TYPE_COUNTER", "values are on counters only")
			events[p.Event.Track] = append(events[p.Event.Track], p)
		}
	}
	for _, list := range events {
		slicesOf(t, list)
	}
}

// slice is a slice as Perfetto draws it.
type slice struct {
	name, id, parent string // of the span
	begin, end       uint64 // end is 0 for a slice without an end
	around           *slice
}

// slicesOf interprets the events of a track like Perfetto: it sorts them by time, opens a slice at each begin, and
// closes the last one at each end. In the file, only instants may be between the begin of a slice and its end.
func slicesOf(t *testing.T, events []packet) (list []*slice) {
	t.Helper()
	begins := map[int]int{} // by the index of the end, in the file
	last := -1
	for _, p := range events {
		switch p.Event.Type {
		case "TYPE_SLICE_BEGIN":
			last = p.index
		case "TYPE_SLICE_END":
			require.GreaterOrEqual(t, last, 0, "an end without a begin")
			begins[p.index] = last
			last = -1
		}
	}
	sorted := slices.Clone(events)
	slices.SortStableFunc(sorted, func(a, b packet) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	type open struct {
		*slice
		index int
	}
	var stack []open
	for _, p := range sorted {
		switch p.Event.Type {
		case "TYPE_SLICE_BEGIN":
			s := &slice{name: p.Event.Name, id: p.Event.text("span_id"), parent: p.Event.text("parent_span_id"), begin: p.Timestamp}
			if len(stack) > 0 {
				s.around = stack[len(stack)-1].slice
			}
			stack = append(stack, open{s, p.index})
			list = append(list, s)
		case "TYPE_SLICE_END":
			require.NotEmpty(t, stack)
			s := stack[len(stack)-1]
			require.Equal(t, begins[p.index], s.index, "the end of another slice closes %s", s.name)
			s.end = p.Timestamp
			stack = stack[:len(stack)-1]
		}
	}
	return list
}

// text returns an annotation that is a text.
func (e *trackEvent) text(name string) string {
	for _, a := range e.Annotations {
		if a.Name == name && a.String != nil {
			return *a.String
		}
	}
	return ""
}
