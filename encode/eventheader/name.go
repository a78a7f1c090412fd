package eventheader

import (
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
	case !validOptions(n.Options):
		return invalidf("options %q must be upper-case letters in alphabetical order, each followed by lower-case letters and digits", n.Options)
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

func validOptions(s string) bool {
	var last byte
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			if c <= last {
				return false
			}
			last = c
		}
	}
	return wellFormedOptions(s)
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
