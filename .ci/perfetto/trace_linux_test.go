package perfetto_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Fields of Perfetto's messages (protos/perfetto/trace) and of descriptor.proto.
const (
	tracePacket        = 1
	packetFtraceEvents = 1
	bundleEvent        = 2
	bundleDescriptor   = 11 // of an event that Perfetto does not know
	descriptorNumber   = 1  // which field of an event it describes
	descriptorMessage  = 2
	messageName        = 1
	messageField       = 2
	fieldName          = 1
	fieldNumber        = 3
)

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
	event  string
	fields map[string]string
}

// shown is a value as arrived has it.
func (f protoField) shown() string {
	if f.bytes != nil {
		return fmt.Sprintf("%q", f.bytes)
	}
	return fmt.Sprint(f.value)
}

// described is an event that Perfetto does not know: its name and those of its fields, by number.
type described struct {
	name   string
	fields map[int]string
}

// eventsOf returns the events of a trace that Perfetto does not know, such as user_events, as
// their descriptors say.
func eventsOf(t *testing.T, trace []byte) (list []arrived) {
	t.Helper()
	descriptors := map[int]described{}
	var events [][]byte
	for _, packet := range parse(t, trace) {
		if packet.number != tracePacket {
			continue
		}
		for _, bundle := range parse(t, packet.bytes) {
			if bundle.number != packetFtraceEvents {
				continue
			}
			for _, f := range parse(t, bundle.bytes) {
				switch f.number {
				case bundleDescriptor:
					id, d := descriptorOf(t, f.bytes)
					descriptors[id] = d
				case bundleEvent:
					events = append(events, f.bytes)
				}
			}
		}
	}
	for _, event := range events {
		for _, f := range parse(t, event) {
			if d, ok := descriptors[f.number]; ok {
				a := arrived{event: d.name, fields: map[string]string{}}
				for _, v := range parse(t, f.bytes) {
					a.fields[d.fields[v.number]] = v.shown()
				}
				list = append(list, a)
			}
		}
	}
	return list
}

func descriptorOf(t *testing.T, data []byte) (id int, d described) {
	d.fields = map[int]string{}
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
					var name string
					var number int
					for _, p := range parse(t, m.bytes) {
						switch p.number {
						case fieldName:
							name = string(p.bytes)
						case fieldNumber:
							number = int(p.value)
						}
					}
					d.fields[number] = name
				}
			}
		}
	}
	return id, d
}
