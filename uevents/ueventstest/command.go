package ueventstest

import (
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/internal/errno"
)

// maxDescription is the longest command of a registration, with its NUL.
const maxDescription = 512

// command is a registration's text: "name[:flags] [fields]".
type command struct {
	name  string
	args  string
	flags bool // there is a colon in the name
}

// splitCommand takes a command apart where the kernel does: at the first space, and at the
// first colon before it. Any name is accepted, even an empty one.
func splitCommand(s string) command {
	name, args, _ := strings.Cut(s, " ")
	name, _, flags := strings.Cut(name, ":")
	return command{name: name, args: args, flags: flags}
}

// userString returns s as the kernel copies it from a program: a C string, hence up to the
// first NUL, of a limited length.
func userString(s string) (string, error) {
	s, _, _ = strings.Cut(s, "\x00")
	if len(s)+1 > maxDescription {
		return "", errno.EINVAL
	}
	return s, nil
}

// isSpace is the kernel's isspace, which counts Latin-1's no-break space.
func isSpace(c byte) bool {
	return c == ' ' || '\t' <= c && c <= '\r' || c == 0xa0
}

func skipSpaces(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	return s
}

// words splits s at white space of any length.
func words(s string) []string {
	var out []string
	for s = skipSpaces(s); s != ""; s = skipSpaces(s) {
		n := 1
		for n < len(s) && !isSpace(s[n]) {
			n++
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

// fieldWords splits the fields of a registration for a comparison. A semicolon ends a word,
// as if white space followed it.
func fieldWords(args string) []string {
	return words(strings.ReplaceAll(args, ";", "; "))
}

// parseUint parses a number in the way of the kernel's kstrtouint: an optional plus, with
// base 0 the prefixes 0x and 0, and one newline at the end.
func parseUint(s string, base int) (uint32, bool) {
	s = strings.TrimPrefix(s, "+")
	s = strings.TrimSuffix(s, "\n")
	if base == 0 {
		switch {
		case len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x':
			s, base = s[2:], 16
		case strings.HasPrefix(s, "0"):
			base = 8
		default:
			base = 10
		}
	}
	n, err := strconv.ParseUint(s, base, 32)
	return uint32(n), err == nil
}
