package eventheader

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/tracepoint"
)

// Name is what the name of a tracepoint says. All events of one provider,
// level and keyword share a tracepoint, so that consumers enable by these three:
//
//	myapp_L4K1
//	provider "myapp", level 4 (info), keyword 1
type Name struct {
	Provider string
	Level    Level
	Keyword  uint64 // a bit mask of categories that the provider defines
	// Options follow the keyword: an upper-case letter with lower-case letters
	// and digits each, in alphabetical order. The only one with a meaning is the
	// provider group, such as "Gmygroup".
	Options string
}

const (
	maxName         = 255 // bytes, without the NUL
	maxProviderName = 233 // provider and options together

	firstField = "eventheader_flags"
)

// Fields of every EventHeader tracepoint, whatever its events contain.
var declarationFields = []tracepoint.Field{
	{Name: firstField, Type: tracepoint.Scalar(tracepoint.U8)},
	{Name: "version", Type: tracepoint.Scalar(tracepoint.U8)},
	{Name: "id", Type: tracepoint.Scalar(tracepoint.U16)},
	{Name: "tag", Type: tracepoint.Scalar(tracepoint.U16)},
	{Name: "opcode", Type: tracepoint.Scalar(tracepoint.U8)},
	{Name: "level", Type: tracepoint.Scalar(tracepoint.U8)},
}

// String returns the tracepoint's name, such as "myapp_L4K1".
func (n Name) String() string {
	b := make([]byte, 0, len(n.Provider)+len(n.Options)+22)
	b = append(b, n.Provider...)
	b = append(b, "_L"...)
	b = strconv.AppendUint(b, uint64(n.Level), 16)
	b = append(b, 'K')
	b = strconv.AppendUint(b, n.Keyword, 16)
	return string(append(b, n.Options...))
}

// validate returns nil if every decoder understands the name, and an error that wraps
// errInvalid otherwise. The provider must be an identifier: letters, digits and
// underscores, not beginning with a digit, at most 233 bytes with the options.
func (n Name) validate() error {
	switch {
	case !isIdentifier(n.Provider):
		return invalidf("provider name %q must consist of letters, digits and underscores and not begin with a digit", n.Provider)
	case len(n.Provider)+len(n.Options) > maxProviderName:
		return invalidf("provider name and options are %d bytes long, the limit is %d", len(n.Provider)+len(n.Options), maxProviderName)
	case !n.Level.valid():
		return invalidf("level %d is not between %d and %d", n.Level, LevelCritical, LevelVerbose)
	case !wellFormedOptions(n.Options):
		return invalidf("options %q must be upper-case letters, each followed by lower-case letters and digits", n.Options)
	}
	return nil
}

// Declaration returns what to register. Its fields are the eight bytes of the
// header, the same for every name; the rest of an event is not declared.
func (n Name) Declaration() (tracepoint.Declaration, error) {
	if err := n.validate(); err != nil {
		return tracepoint.Declaration{}, err
	}
	fields := append([]tracepoint.Field(nil), declarationFields...)
	return tracepoint.Declaration{Name: n.String(), Fields: fields}, nil
}

// IsDeclaration reports whether the payloads of a tracepoint are EventHeader
// events. Its first field decides.
func IsDeclaration(d tracepoint.Declaration) bool {
	return len(d.Fields) > 0 && d.Fields[0].Name == firstField
}

// ParseName parses the name of an EventHeader tracepoint. It is as lenient as the decoders
// of other languages: it takes any provider, level and options, even such as
// an Encoder's event never has.
func ParseName(s string) (Name, error) {
	fail := func(at int, problem string) (Name, error) {
		return Name{}, &decodeError{part: "name", offset: at, problem: problem}
	}
	if len(s) > maxName {
		return fail(maxName, "longer than 255 bytes")
	}
	if i := strings.IndexByte(s, 0); i >= 0 {
		return fail(i, "contains a NUL")
	}
	// The provider may contain underscores, the rest cannot.
	under := strings.LastIndexByte(s, '_')
	if under < 0 {
		return fail(0, "no _L followed by a level")
	}
	level, rest, ok := cutHex(s[under+1:], 'L', 8)
	if !ok {
		return fail(under+1, "no level of two hexadecimal digits at most")
	}
	keyword, options, ok := cutHex(rest, 'K', 64)
	if !ok {
		return fail(len(s)-len(rest), "no keyword of 16 hexadecimal digits at most")
	}
	if !wellFormedOptions(options) {
		return fail(len(s)-len(options), "malformed options")
	}
	return Name{Provider: s[:under], Level: Level(level), Keyword: keyword, Options: options}, nil
}

// cutHex parses a letter and a lower-case hexadecimal number of at most so many bits.
// No digits count as zero, as in other decoders.
func cutHex(s string, letter byte, size int) (v uint64, rest string, ok bool) {
	if s == "" || s[0] != letter {
		return 0, s, false
	}
	n := 1
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] >= 'a' && s[n] <= 'f') {
		n++
	}
	if n > 1 {
		var err error
		if v, err = strconv.ParseUint(s[1:n], 16, size); err != nil {
			return 0, s, false
		}
	}
	return v, s[n:], true
}

func wellFormedOptions(s string) bool {
	for i := range len(s) {
		c := s[i]
		lower := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		upper := c >= 'A' && c <= 'Z'
		if !upper && (i == 0 || !lower) {
			return false
		}
	}
	return true
}

func isIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		digit := c >= '0' && c <= '9'
		if !letter && (i == 0 || !digit) {
			return false
		}
	}
	return s != ""
}

// Level is the severity of an event. It stands in the header and in the
// tracepoint's name, and both must agree.
type Level uint8

// The levels. Decoders disagree about others, so the encoders refuse them.
const (
	LevelCritical Level = 1
	LevelError    Level = 2
	LevelWarning  Level = 3
	LevelInfo     Level = 4
	LevelVerbose  Level = 5
)

// valid reports whether every decoder accepts the level.
func (l Level) valid() bool { return l >= LevelCritical && l <= LevelVerbose }

// Opcode says which moment of an activity an event marks, by the numbers of eventheader.h, such as 1 for its start. 0 is none.
type Opcode uint8

// arch is the byte order and the pointer width of an event that an Encoder makes. Only tests make events of other architectures.
type arch uint8

const (
	archHost arch = iota
	little64
	little32
	big64
	big32
)

// Flags of the header's first byte.
const (
	flagPointer64    = 0x01
	flagLittleEndian = 0x02
	flagExtension    = 0x04
	flagsKnown       = flagPointer64 | flagLittleEndian | flagExtension
)

var (
	hostLittle = binary.NativeEndian.Uint16([]byte{1, 0}) == 1
	hostFlags  = flagsOfHost()
)

func flagsOfHost() uint8 {
	var f uint8
	if hostLittle {
		f |= flagLittleEndian
	}
	if bits.UintSize == 64 {
		f |= flagPointer64
	}
	return f
}

// archFlags has the flags of each architecture.
var archFlags = [...]uint8{
	archHost: hostFlags,
	little64: flagLittleEndian | flagPointer64,
	little32: flagLittleEndian,
	big64:    flagPointer64,
	big32:    0,
}

func (a arch) flags() (uint8, order) { return archFlags[a], orderOf(archFlags[a]) }

func orderOf(flags uint8) order { return flags&flagLittleEndian != 0 != hostLittle }

// Header identifies an event. Only Name and Level are needed.
type Header struct {
	Name    string // of the event; the provider's name is in the tracepoint's
	Level   Level
	Opcode  Opcode
	ID      uint16 // stable number of the event, or 0
	Version uint8  // of the event's fields; 0 unless ID is set
	Tag     uint16 // for the provider's own use
	arch    arch
}

// UUID is an activity id or another UUID, in the byte order of RFC 4122. The
// zero UUID stands for none.
type UUID [16]byte

// String returns the UUID in its canonical form, in lower case.
func (u UUID) String() string { return string(u.append(nil)) }

func (u UUID) append(dst []byte) []byte {
	start := 0
	for _, end := range [...]int{4, 6, 8, 10, 16} {
		if start > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, u[start:end])
		start = end
	}
	return dst
}

// Extensions of the header: a size and a kind of 16 bits each, then the bytes.
const (
	headerSize    = 8
	extensionSize = 4

	minEvent = 256 // what a buffer gets that has to grow

	kindMetadata = 1
	kindActivity = 2
	kindChain    = 0x8000 // another extension follows
)

// appendHeader appends the fixed header, and the beginning of the metadata extension with a size of 0.
func (h *Header) appendHeader(dst []byte) ([]byte, order) {
	flags, o := h.arch.flags()
	if cap(dst)-len(dst) < minEvent {
		dst = slices.Grow(dst, minEvent)
	}
	at := len(dst)
	b := (*[headerSize]byte)(dst[at : at+headerSize])
	b[0], b[1], b[6], b[7] = flags|flagExtension, h.Version, byte(h.Opcode), byte(h.Level)
	o.put16(b[2:], h.ID)
	o.put16(b[4:], h.Tag)
	return o.append16(o.append16(dst[:at+headerSize], 0), kindMetadata), o
}

// order is the byte order of an event: true if it is not this machine's.
type order bool

const hostOrder = order(false)

func (o order) u16(v uint16) uint16 {
	if o {
		return bits.ReverseBytes16(v)
	}
	return v
}

func (o order) u32(v uint32) uint32 {
	if o {
		return bits.ReverseBytes32(v)
	}
	return v
}

func (o order) u64(v uint64) uint64 {
	if o {
		return bits.ReverseBytes64(v)
	}
	return v
}

func (o order) append16(b []byte, v uint16) []byte {
	return binary.NativeEndian.AppendUint16(b, o.u16(v))
}

func (o order) append64(b []byte, v uint64) []byte {
	return binary.NativeEndian.AppendUint64(b, o.u64(v))
}

func (o order) put16(b []byte, v uint16) { binary.NativeEndian.PutUint16(b, o.u16(v)) }

func (o order) get16(b []byte) uint16 { return o.u16(binary.NativeEndian.Uint16(b)) }
func (o order) get32(b []byte) uint32 { return o.u32(binary.NativeEndian.Uint32(b)) }
func (o order) get64(b []byte) uint64 { return o.u64(binary.NativeEndian.Uint64(b)) }
