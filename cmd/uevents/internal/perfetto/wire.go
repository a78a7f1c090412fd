package perfetto

import (
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of fields and values, from Perfetto's schema: https://github.com/google/perfetto, protos/perfetto/trace (trace_packet.proto,
// clock_snapshot.proto, track_event/*.proto, ftrace/ftrace_event_bundle.proto, ftrace/ftrace_event.proto, ftrace/sched.proto).
const (
	tracePacket protowire.Number = 1

	packetFtraceEvents    protowire.Number = 1
	packetClockSnapshot   protowire.Number = 6
	packetTimestamp       protowire.Number = 8
	packetSequence        protowire.Number = 10 // trusted_packet_sequence_id; without it, Perfetto ignores track events
	packetTrackEvent      protowire.Number = 11
	packetSequenceFlags   protowire.Number = 13
	packetTimestampClock  protowire.Number = 58
	packetTrackDescriptor protowire.Number = 60

	snapshotClocks       protowire.Number = 1
	snapshotPrimaryClock protowire.Number = 2
	clockID              protowire.Number = 1
	clockTimestamp       protowire.Number = 2

	descriptorUUID    protowire.Number = 1
	descriptorName    protowire.Number = 2
	descriptorProcess protowire.Number = 3
	descriptorThread  protowire.Number = 4
	descriptorParent  protowire.Number = 5
	descriptorCounter protowire.Number = 8
	processPID        protowire.Number = 1
	processName       protowire.Number = 6
	threadPID         protowire.Number = 1
	threadTID         protowire.Number = 2
	threadName        protowire.Number = 5
	counterUnit       protowire.Number = 3
	counterUnitName   protowire.Number = 6

	eventAnnotations   protowire.Number = 4
	eventType          protowire.Number = 9
	eventTrack         protowire.Number = 11
	eventCategories    protowire.Number = 22
	eventName          protowire.Number = 23
	eventCounterInt    protowire.Number = 30
	eventCounterDouble protowire.Number = 44
	eventFlows         protowire.Number = 47

	annotationBool   protowire.Number = 2
	annotationUint   protowire.Number = 3
	annotationInt    protowire.Number = 4
	annotationDouble protowire.Number = 5
	annotationString protowire.Number = 6
	annotationName   protowire.Number = 10
	annotationDict   protowire.Number = 11
	annotationArray  protowire.Number = 12

	bundleCPU         protowire.Number = 1
	bundleEvent       protowire.Number = 2
	ftraceTimestamp   protowire.Number = 1
	ftracePID         protowire.Number = 2
	ftraceSchedSwitch protowire.Number = 4
)

// Values of enumerations.
const (
	clockRealtime  = 1
	clockMonotonic = 3
	clockBoottime  = 6

	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3
	counter    = 4

	unitCount = 2

	stateCleared = 1 // sequence_flags: the sequence begins
)

// message is an encoded Protocol Buffers message. Its methods append fields.
type message struct{ data []byte }

func (m *message) uint(n protowire.Number, v uint64) {
	m.data = protowire.AppendVarint(protowire.AppendTag(m.data, n, protowire.VarintType), v)
}

// int appends an int32 or int64.
func (m *message) int(n protowire.Number, v int64) { m.uint(n, uint64(v)) }

func (m *message) bool(n protowire.Number, v bool) { m.uint(n, protowire.EncodeBool(v)) }

func (m *message) fixed64(n protowire.Number, v uint64) {
	m.data = protowire.AppendFixed64(protowire.AppendTag(m.data, n, protowire.Fixed64Type), v)
}

func (m *message) double(n protowire.Number, v float64) { m.fixed64(n, math.Float64bits(v)) }

// string appends a text. Bytes that are not UTF-8 become U+FFFD, since the type string requires UTF-8.
func (m *message) string(n protowire.Number, s string) {
	m.data = protowire.AppendString(protowire.AppendTag(m.data, n, protowire.BytesType), strings.ToValidUTF8(s, "\uFFFD"))
}

func (m *message) raw(fields []byte) { m.data = append(m.data, fields...) }

// begin begins a message as a field. Fields appended until the call of end belong to it.
func (m *message) begin(n protowire.Number) (at int) {
	m.data = protowire.AppendTag(m.data, n, protowire.BytesType)
	return len(m.data)
}

// end ends the message that began at the position, and inserts its length.
func (m *message) end(at int) {
	size := len(m.data) - at
	m.data = protowire.AppendVarint(m.data, uint64(size)) // makes room; the length moves next
	prefix := len(m.data) - at - size
	copy(m.data[at+prefix:], m.data[at:at+size])
	protowire.AppendVarint(m.data[:at], uint64(size))
}
