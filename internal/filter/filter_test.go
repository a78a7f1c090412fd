package filter

import (
	"encoding/binary"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/tracepoint"
)

// declaration has a field of every type.
var declaration = tracepoint.MustParse("filter_fields u32 seq; u8 a; s8 b; u16 c; s16 d; u32 e; s32 f; u64 g; s64 h; char i; unsigned char j; " +
	"short k; unsigned short l; int m; unsigned int n; char[8] fix; unsigned char[3] small; __data_loc char[] text; " +
	"__rel_loc char[] rel; __data_loc unsigned char[] bytes; __data_loc u16[] words; __rel_loc unsigned char[] void; struct point p8 8; struct odd p3 3; struct big p16 16")

func formatOf(d tracepoint.Declaration) tracepoint.Format {
	f := tracepoint.Format{Name: d.Name, ID: 1234}
	at := tracepoint.CommonSize
	for _, field := range d.Fields {
		size := field.Type.FixedSize()
		f.Fields = append(f.Fields, tracepoint.FormatField{Name: field.Name, Type: field.Type, Offset: at, Size: size})
		at += size
	}
	return f
}

// values are what a record has in its fields.
type values struct {
	numbers map[string]int64
	bytes   map[string]string // of all other fields
}

// payload encodes a record. Text of size 0 has the text of the next field behind it.
func (v values) payload() []byte {
	var fixed, texts []byte
	size := declaration.FixedSize()
	texts = append(texts, 0) // before text of size 0, the kernel wants a NUL, too
	for _, f := range declaration.Fields {
		start := len(fixed)
		fixed = append(fixed, make([]byte, f.Type.FixedSize())...)
		b := fixed[start:]
		if n, ok := v.numbers[f.Name]; ok {
			switch len(b) {
			case 1:
				b[0] = byte(n)
			case 2:
				binary.NativeEndian.PutUint16(b, uint16(n))
			case 4:
				binary.NativeEndian.PutUint32(b, uint32(n))
			default:
				binary.NativeEndian.PutUint64(b, uint64(n))
			}
			continue
		}
		text := v.bytes[f.Name]
		if f.Type.Location == tracepoint.Fixed {
			copy(b, text)
			continue
		}
		at := size + len(texts)
		if f.Type.Location == tracepoint.DataLoc {
			at += tracepoint.CommonSize
		} else {
			at -= start + 4
		}
		binary.NativeEndian.PutUint32(b, uint32(len(text)<<16|at))
		texts = append(texts, text...)
	}
	return append(append(fixed, texts...), "ab\x00"...)
}

var sample = values{
	numbers: map[string]int64{
		"a": 200, "b": -1, "c": 65535, "d": -32768, "e": 1 << 31, "f": -5, "g": -1, "h": -1 << 63, "i": -1, "j": 255, "k": -2, "l": 65534, "m": 7, "n": 7, "p8": 77,
	},
	bytes: map[string]string{
		"fix": "/users/7", "small": "ab", "text": "/users/42\x00", "rel": "a\x00b\x00", "bytes": "7[y\x00", "words": "\x01\x00", "void": "", "p16": "16",
	},
}

const sampleComm = "fifteen bytes c"

// matches are filters, and whether they match the sample. The kernel's answers are the same: see TestKernel.
var matches = map[string]bool{
	// precedence and white space
	"a == 1 && b == 1 || m == 7": true, "m == 7 || a == 1 && b == 1": true, "(m == 7 || a == 1) && b == 1": false, "!(a == 1 || b == 1)": true,
	"!a == 1": true, "!!a == 1": false, "! ( ! m==7 )": true, "!(m == 7 && !(a == 1))": false, "m==7&&n==7": true, "\t m\xa0== \v7 \r": true, "((m == 7))": true,
	"m == 7 && (a == 1 || (b == 1 || n == 7)) && !(e == 1)": true, "a & 8&&m & 4": true,
	// numbers
	"a == 200": true, "a == 0xC8": true, "a == 0Xc8": true, "a == 0310": true, "a == 456": true, "a > 300": true, "a < 456": false, "a >= 200": true,
	"a <= 199": false, "a <= 200": true, "m == 7" + strings.Repeat(" ", 4089): true, "b == -1": true, "b == 255": true, "b < 0": true, "b > 127": false, "b < 128": false, "c == 65535": true, "c > 65534": true, "c >= 65536": true,
	"d == -32768": true, "d == 32768": true, "d < -32767": true, "e == 2147483648": true, "e > 1": true, "e != 2147483648": false,
	"f >= -5": true, "f > -5": false, "f & 1": true, "f & 4": false, "g == 18446744073709551615": true, "g >= 0xffffffffffffffff": true, "g & 0x8000000000000000": true,
	"h == -9223372036854775808": true, "h < 0": true, "h > -9223372036854775807": false, "i == -1": true, "i == 255": true, "j == 255": true,
	"j < 0": false, "k < -1": true, "l > 65533": true, "m == 00000000000000000000007": true, "m != 8": true, "m == -0": false, "m.ustring == 7": true,
	// what is a number, too
	"p8 == 77": true, "p8 > -1": true, "p3 == 0": false, "p3 != 0": false, "!p3 == 0": true, "p16 >= 0": false, "words > 0": true, "words == 5": false,
	// text
	`text == "/users/42"`: true, `text == '/users/42'`: true, `text == "/users/4"`: false, `text == "/users/421"`: false, `text != "/users/4"`: true, `text == ""`: false,
	`text ~ "/users/*"`: true, `text ~ "*42"`: true, `text ~ "*sers*"`: true, `text ~ "/u*2"`: true, `text ~ "/users/??"`: true, `text ~ "/users/?"`: false,
	`text ~ "/users/[0-9]2"`: true, `text ~ "/users/[!0-9]2"`: false, `text ~ "!/users/*"`: false, `text ~ "*"`: true, `text ~ "**"`: true, `text ~ ""`: false,
	`text ~ "!"`: true, `text.ustring ~ "/*"`: true, `text ~ "\/users/42"`: true, `text ~ "/users/42\"`: true, `text ~ "*/[4-]2"`: true, `text ~ "*[2-"`: false,
	`text ~ "/*2"`: true, `text ~ "/*users/4?"`: true, `text ~ "xusers/4?"`: false, `text ~ "users/4?"`: false, `text ~ "?*x"`: false, `text ~ "*s*/[4-]2"`: true, `text ~ "/[u-"`: false, "text != '" + strings.Repeat("x", 255) + "'": true,
	`rel == "a"`: true, `rel ~ "*b*"`: true, `rel ~ "*b"`: true, `rel ~ "a?"`: false, `rel ~ "[!b]"`: true, `rel ~ "b*"`: false,
	`bytes == "7[y"`: true, `bytes ~ "7[y"`: true, `bytes ~ "7*"`: false, `bytes ~ "!7*"`: true, `bytes ~ "?[[]y"`: true, `bytes ~ "?[y"`: true, `bytes ~ "?[]y"`: false, `bytes ~ "?[!"`: false,
	`fix == "/users/7"`: true, `fix == "/users/"`: false, `fix == "/users/71"`: false, `fix ~ "*7"`: false, `fix ~ "*/"`: true, `fix ~ "*/?"`: true, `fix ~ "*7*"`: true,
	`small == "ab"`: true, `small ~ "*ab"`: true, `small ~ "*b*"`: true, `small ~ "abcd*"`: false,
	`void == "ab"`: true, `void ~ "a*"`: true, `void ~ "*b*"`: true, `void ~ "*b"`: false, `void ~ "a?"`: false, `void ~ "?*?"`: false, `void ~ "!*b"`: true, `void != ""`: true,
	// fields of all events
	"common_pid > 0": true, "common_type > 0": true, "CPU >= 0": true, "cpu < 0": false, "common_cpu & 255": false, "CPU != 4294967295": true, "CPU > 4294967295": true,
	`COMM == "fifteen bytes c"`: true, `comm ~ "*c"`: true, `comm ~ "*byte*"`: true, `comm != "fifteen"`: true, "stacktrace == 5": false, "!STACKTRACE != 5": true,
}

// refusals are what the kernel refuses, and the end of our error.
var refusals = map[string]string{
	"": "the name of a field expected, at byte 1", "  ": "at byte 3", "()": "the name of a field expected, at byte 2", "0": "an operator expected", "==": "at byte 1",
	"a": "an operator expected: one of ~ != == <= < >= > &, at byte 2", "a = 1": "at byte 3", "a=~'x'": "at byte 2", "a == 1 &&": "the name of a field expected, at byte 10", "|| a == 1": "at byte 1",
	"a == 1 & b == 1": "&& or || expected, at byte 8", "a == 1 | b == 1": "at byte 8", "a == 1 b == 1": "&& or || expected, at byte 8", "a == 1 &&& b == 1": "at byte 10", "a && b": "a number, or text in quotes, expected, at byte 4",
	"(a == 1": "( without ), at byte 1", "a == 1)": ") without (, at byte 7", "(a == 1 b)": "&&, || or ) expected, at byte 9", "a == 1 (b == 1)": "at byte 8", "!": "at byte 2", "!=": "at byte 1", "!~a == 1": "at byte 1",
	"nope == 1": "the event has no field nope, at byte 1", "m == 7 && nope == 1 || gone == 1": "no field nope, at byte 11", "größe == 1": "an operator expected", "gr\xf6\xdfe == 1": "no field gr\xf6\xdfe, at byte 1", "z == 1": "no field z", "\xc0 == 1": "no field \xc0", "a.b == 1": "an operator expected", "a .ustring == 1": "at byte 3", "a\xd7 == 1": "an operator", "a\xf7 == 1": "an operator",
	"a == -1": "-1 is no number that a can be compared with, at byte 6", "m == 08": "08 is no number that m can be compared with, at byte 6", "m == 0x": "0x is no number", "m == 0b1": "0b1 is no number", "m == -": "- is no number", "m == 7x": "7x is no number", "m == 7.5": "&& or || expected, at byte 7", "m == +7": "at byte 6",
	"g == 18446744073709551616": "at byte 6", "m == 9223372036854775808": "9223372036854775808 is no number that m can be compared with", "h == -9223372036854775809": "at byte 6",
	"m == 000000000000000000000007": "the number has more than 23 characters, at byte 6", "m ~ 7": "~ needs text in quotes, at byte 5", "m ~ '7'": "m is a number, and is not compared with text, at byte 5", "p8 == 'x'": "at byte 7", "words == 'x'": "at byte 10",
	"text == x": "a number, or text in quotes, expected, at byte 9", "text == 7": "text is text: the value needs quotes, at byte 9", "text < 'x'": "text is compared with ==, != or ~, not with <, at byte 8", "text == 'x": "a quote without the second one, at byte 9",
	`text == 'x"`: "at byte 9", "text == 'x'y": "&& or || expected, at byte 12", "CPU == 'x'": "CPU is a number", "COMM == 7": "COMM is text", "stacktrace == 'x'": "at byte 15", "common_pid == 'x'": "at byte 15",
	"text == '" + strings.Repeat("x", 256) + "'": "the text has more than 255 bytes, at byte 9", "m == 7" + strings.Repeat(" ", 4090): "the filter has more than 4095 bytes, at byte 4096",
}

func bind(text string, f tracepoint.Format) (*Filter, error) {
	tree, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return tree.Bind(f)
}

func sampleRecord() *Record {
	raw := make([]byte, tracepoint.CommonSize)
	binary.NativeEndian.PutUint16(raw, 1234)
	binary.NativeEndian.PutUint32(raw[4:], 99)
	return &Record{Raw: append(raw, sample.payload()...), CPU: 1, Comm: sampleComm}
}

func TestMatch(t *testing.T) {
	r := sampleRecord()
	for text, want := range matches {
		f, err := bind(text, formatOf(declaration))
		if assert.NoError(t, err, "%s", text) {
			assert.Equal(t, want, f.Match(r), "%s", text)
		}
	}
}

func TestRefused(t *testing.T) {
	for text, problem := range refusals {
		_, err := bind(text, formatOf(declaration))
		assert.ErrorContains(t, err, problem, "%s", text)
		assert.ErrorIs(t, err, syscall.EINVAL, "%s", text)
	}
	for text, problem := range map[string]string{ // which the kernel accepts, or cannot see
		"g.function == vfs_read": "only the kernel knows its functions, at byte 2", "a & CPUS{1-3}": "only the kernel knows its processors, at byte 5", "m == 7\x00": "a filter has no NUL, at byte 7", "\x00": "no NUL, at byte 1",
	} {
		_, err := bind(text, formatOf(declaration))
		assert.ErrorContains(t, err, problem, "%s", text)
		assert.ErrorIs(t, err, syscall.EINVAL, "%s", text)
	}
}

// TestRecords: fields of all events, and records that the kernel would refuse.
func TestRecords(t *testing.T) {
	r := sampleRecord()
	r.Raw[2], r.Raw[3] = 64, 2
	match := func(text string) bool {
		f, err := bind(text, formatOf(declaration))
		require.NoError(t, err)
		return f.Match(r)
	}
	assert.True(t, match("common_type == 1234 && common_flags & 64 && common_preempt_count == 2 && common_pid == 99 && CPU == 1"))
	r.Comm = "short"
	assert.True(t, match(`COMM == "short" && COMM ~ "sh*" && comm ~ "sho?t"`))
	assert.False(t, match(`COMM ~ "*short"`), "the name ends before the last byte")
	r.Comm = "more than fifteen bytes"
	assert.True(t, match(`COMM == "more than fifte"`))

	r.Raw[len(r.Raw)-len("ab\x00")] = 0 // text of size 0 begins there
	assert.True(t, match(`void == "" && !(void ~ "*b*")`))

	raw, fixed := r.Raw, tracepoint.CommonSize+declaration.FixedSize()
	for i := range raw { // a location is behind the end
		r.Raw = raw[:i]
		assert.Equal(t, i >= fixed, match(`text != "x" && rel != "x" && a == 200`), "%d of %d bytes", i, fixed)
	}
	r.Raw = raw[:fixed]
	assert.False(t, match(`text ~ "*42*" || void == "a" || rel == "a"`))
}

// TestOwnFields: fields of the event come before those of all events, and later ones before earlier ones.
func TestOwnFields(t *testing.T) {
	f := formatOf(tracepoint.MustParse("x u8 CPU; u8 twice; u8 other"))
	f.Fields[2].Name = "twice"
	r := &Record{Raw: []byte{0, 0, 0, 0, 0, 0, 0, 0, 77, 1, 2}, CPU: 1}
	for text, want := range map[string]bool{"CPU == 77": true, "cpu == 1": true, "twice == 2": true, "twice == 1": false} {
		own, err := bind(text, f)
		require.NoError(t, err)
		assert.Equal(t, want, own.Match(r), text)
	}
}
