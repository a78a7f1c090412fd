package perfdata

import (
	"encoding/binary"
	"math/bits"
)

var order = binary.NativeEndian

// Start of a file in this machine's byte order, and in the other one.
const (
	magic      = "PERFILE2"
	otherMagic = "2ELIFREP"

	// MagicSize is the number of bytes that tell whether a file is perf.data.
	MagicSize = len(magic)
)

// IsFile reports whether a file that begins with these bytes is perf.data, of either byte order.
func IsFile(begin []byte) bool { return string(begin) == magic || string(begin) == otherMagic }

const (
	pipeHeaderSize = 16  // magic, u64 size: of a file whose metadata is in records
	fileHeaderSize = 104 // magic, u64 size, attr_size; 3 sections; 256 bits of features
	sectionSize    = 16  // u64 offset, size
	recordHeader   = 8   // u32 type; u16 misc, size
)

// Types of records: enum perf_event_type, and those of perf's own.
const (
	typeLost          = 2
	typeComm          = 3
	typeFork          = 7
	typeSample        = 9
	typeMmap2         = 10
	typeLostSamples   = 13
	typeHeaderAttr    = 64
	typeTracingData   = 66
	typeFinishedRound = 68
	typeAuxtrace      = 71
	typeFeature       = 80
	typeCompressed    = 81
	typeCompressed2   = 83

	typeUser = 64 // first of perf's own types, which have no trailer
)

// Bits of perf_event_header.misc.
const (
	miscMmapData = 1 << 13 // of a mapping: it is not executable
	miscBuildID  = 1 << 14 // of a mapping: it has a build id in the place of device and inode
	miscCommExec = 1 << 13 // of a name: the process runs another program

	miscLostSamplesBPF = 1 << 15 // of lost samples: perf's filter dropped them
)

// Bits of perf_event_attr.sample_type, in the order of the fields in samples except the first one.
const (
	sampleIP         = 1 << 0
	sampleTID        = 1 << 1
	sampleTime       = 1 << 2
	sampleAddr       = 1 << 3
	sampleRead       = 1 << 4
	sampleCallchain  = 1 << 5
	sampleID         = 1 << 6
	sampleCPU        = 1 << 7
	samplePeriod     = 1 << 8
	sampleStreamID   = 1 << 9
	sampleRaw        = 1 << 10
	sampleIdentifier = 1 << 16
	sampleCgroup     = 1 << 21

	// Fields of variable size between the raw data and the id of the cgroup.
	sampleAfterRaw = 1<<11 | 1<<12 | 1<<13 | 1<<14 | 1<<24 | 1<<15 | 1<<17 | 1<<18 | 1<<19
)

// Bits of perf_event_attr's flags.
const (
	attrSampleIDAll = 1 << 18
	attrUseClockID  = 1 << 25
)

const (
	typeTracepoint = 2  // perf_event_attr.type
	clockIDAt      = 92 // offset of perf_event_attr.clockid
	clockMonotonic = 1

	// contextUser marks the start of the user's stack in a call chain; values from contextMax up are such marks.
	contextUser = ^uint64(512) + 1
	contextMax  = ^uint64(4095) + 1
)

// Features: metadata in records, or in optional sections behind the data.
const (
	featureTracingData = 1
	featureClockData   = 29
)

// sample is a record of an event. Its slices share the memory of the record, except for the call chain.
type sample struct {
	time      uint64
	pid, tid  int32
	cpu       int // -1 if unknown
	cgroup    uint64
	callchain []uint64
	raw       []byte
}

// sameIDs reports whether records of both layouts have their ids at the same position.
func (l *layout) sameIDs(m *layout) bool {
	if l.sampleType&m.sampleType&sampleIdentifier != 0 {
		return l.sampleIDAll == m.sampleIDAll
	}
	return l.sampleType == m.sampleType && l.sampleIDAll == m.sampleIDAll
}

// fieldsBefore returns the number of bytes before a field in a sample.
func (l *layout) fieldsBefore(field uint64) int {
	if field == sampleIdentifier {
		return 0
	}
	n := bits.OnesCount64(l.sampleType & sampleIdentifier)
	for _, f := range [...]uint64{sampleIP, sampleTID, sampleTime, sampleAddr, sampleID, sampleStreamID, sampleCPU, samplePeriod, sampleRead} {
		if f == field {
			break
		}
		n += bits.OnesCount64(l.sampleType & f)
	}
	return 8 * n
}

// trailing returns the distance of a field from the end of a record that is not a sample, or 0 if there is no such
// field.
func (l *layout) trailing(field uint64) int {
	n := 0
	for _, f := range [...]uint64{sampleIdentifier, sampleCPU, sampleStreamID, sampleID, sampleTime, sampleTID} {
		n += 8 * bits.OnesCount64(l.sampleType&f)
		if f == field && l.sampleIDAll && l.sampleType&f != 0 {
			return n
		}
	}
	return 0
}

// id returns the id of a record's event, or 0 if it has none.
func (l *layout) id(rec entry) uint64 {
	field := uint64(sampleIdentifier)
	if l.sampleType&field == 0 {
		field = sampleID
	}
	return l.common(rec, field)
}

func (l *layout) common(rec entry, field uint64) uint64 {
	body := rec.body()
	if rec.kind() == typeSample {
		if at := l.fieldsBefore(field); l.sampleType&field != 0 && at+8 <= len(body) {
			return order.Uint64(body[at:])
		}
		return 0
	}
	if n := l.trailing(field); n > 0 && n <= len(body) {
		return order.Uint64(body[len(body)-n:])
	}
	return 0
}

// parse parses a sample with raw data. It stores the addresses of its stack in the memory of chain.
func (l *layout) parse(rec entry, chain []uint64) (s sample, ok bool) {
	body := rec.body()
	word := func(field uint64) uint64 {
		if l.sampleType&field == 0 {
			return 0
		}
		return order.Uint64(body[l.fieldsBefore(field):])
	}
	if len(body) < l.fieldsBefore(sampleRead) {
		return s, false
	}
	s.time = word(sampleTime)
	s.cpu = -1
	if l.sampleType&sampleTID != 0 {
		at := body[l.fieldsBefore(sampleTID):]
		s.pid, s.tid = int32(order.Uint32(at)), int32(order.Uint32(at[4:]))
	}
	if l.sampleType&sampleCPU != 0 {
		s.cpu = int(int32(order.Uint32(body[l.fieldsBefore(sampleCPU):])))
	}
	c := &cursor{b: body[l.fieldsBefore(sampleRead):]}
	if l.sampleType&sampleCallchain != 0 {
		s.callchain = c.callchain(chain[:0])
	}
	s.raw = c.take(uint64(c.u32()))
	if l.sampleType&sampleCgroup != 0 && l.sampleType&sampleAfterRaw == 0 {
		s.cgroup = c.u64()
	}
	return s, !c.bad
}

// callchain reads a stack, and appends the user's part of it.
func (c *cursor) callchain(addrs []uint64) []uint64 {
	user := false
	for n := c.u64(); n > 0 && !c.bad; n-- {
		switch addr := c.u64(); {
		case addr >= contextMax:
			user = addr == contextUser
		case user && !c.bad:
			addrs = append(addrs, addr)
		}
	}
	return addrs
}
