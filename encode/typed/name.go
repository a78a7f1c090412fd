package typed

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxFieldName is the length in bytes of the longest name that [FieldName] returns.
const MaxFieldName = 64

// FieldName returns the field name for a name from elsewhere, such as an
// OpenTelemetry attribute or a slog key:
//
//   - ASCII letters, digits and underscores stay; any other ASCII character
//     becomes an underscore: http.request.method is http_request_method.
//   - Other characters become u and their code point in at least four hex digits:
//     größe is gru00f6u00dfe. A byte that is not valid UTF-8 counts as U+FFFD.
//   - A name that is empty, or begins with a digit or with common_, which belongs to
//     the kernel, gets an underscore in front.
//   - A name that is longer than [MaxFieldName] then is cut, and ends in an underscore and
//     eight hex digits, the 32-bit FNV-1a hash of the original.
//
// The result always is a valid name of a field or, unless it is enable or filter, of an event.
// Different names may have the same result; [FieldNames] tells them apart.
func FieldName(name string) string {
	if len(name) <= MaxFieldName && isFieldName(name) {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		switch {
		case isWord(r):
			b.WriteRune(r)
		case r < utf8.RuneSelf:
			b.WriteByte('_')
		default:
			b.WriteByte('u')
			b.WriteString(hex(uint32(r), 4))
		}
	}
	field := b.String()
	if !isFieldName(field) {
		field = "_" + field
	}
	if len(field) > MaxFieldName {
		field = withHash(field, name, 0)
	}
	return field
}

// FieldNames returns the field names of one event, given all of its names. A
// name that no other name of the event gets in the way of becomes its [FieldName]. Of
// different names with the same FieldName, the one that is a valid name as it stands keeps it,
// and the others get an underscore and eight hex digits, the 32-bit FNV-1a hash of the name, at the end.
//
// Different names have different results, equal names have equal results, and the order makes no
// difference.
func FieldNames(names ...string) []string {
	distinct := slices.Clone(names)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)

	claims := make(map[string]int, len(distinct))
	for _, name := range distinct {
		claims[FieldName(name)]++
	}
	fields := make(map[string]string, len(distinct)) // by name
	taken := make(map[string]bool, len(distinct))
	for _, name := range distinct {
		if field := FieldName(name); field == name || claims[field] == 1 {
			fields[name], taken[field] = field, true
		}
	}
	for _, name := range distinct {
		if _, done := fields[name]; done {
			continue
		}
		field := withHash(FieldName(name), name, 0)
		for salt := 1; taken[field]; salt++ {
			field = withHash(FieldName(name), name, salt)
		}
		fields[name], taken[field] = field, true
	}

	out := make([]string, len(names))
	for i, name := range names {
		out[i] = fields[name]
	}
	return out
}

// withHash ends a field name in the hash of the original, within [MaxFieldName]. A salt other than 0
// gives another hash, for the case that the first one is taken.
func withHash(field, name string, salt int) string {
	h := fnv.New32a()
	h.Write([]byte(name))
	h.Write(make([]byte, salt))
	const suffix = len("_01234567")
	return field[:min(len(field), MaxFieldName-suffix)] + "_" + hex(h.Sum32(), 8)
}

func hex(v uint32, digits int) string {
	s := strconv.FormatUint(uint64(v), 16)
	return strings.Repeat("0", max(0, digits-len(s))) + s
}

func isFieldName(s string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') && !strings.HasPrefix(s, "common_") &&
		strings.IndexFunc(s, func(r rune) bool { return !isWord(r) }) < 0
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}
