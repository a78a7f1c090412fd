package perfdata

import "encoding/binary"

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
	attrSize       = 112 // PERF_ATTR_SIZE_VER5 of struct perf_event_attr
	recordHeader   = 8   // u32 type; u16 misc, size
)

// Types of records: enum perf_event_type, and those of perf's own.
const (
	typeMmap          = 1
	typeLost          = 2
	typeComm          = 3
	typeExit          = 4
	typeFork          = 7
	typeSample        = 9
	typeMmap2         = 10
	typeLostSamples   = 13
	typeHeaderAttr    = 64
	typeEventType     = 65 // no longer used: all tools ignore it
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
	miscUser     = 2
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
	attrMmap                   = 1 << 8
	attrComm                   = 1 << 9
	attrTask                   = 1 << 13
	attrSampleIDAll            = 1 << 18
	attrExcludeCallchainKernel = 1 << 21
	attrMmap2                  = 1 << 23
	attrUseClockID             = 1 << 25
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
	featureHostname    = 3
	featureRelease     = 4
	featureCommand     = 11
	featureClockData   = 29
)
