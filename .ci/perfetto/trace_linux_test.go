package perfetto_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
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
