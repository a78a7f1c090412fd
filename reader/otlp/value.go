package otlp

import (
	"encoding/base64"
	"hash/maphash"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/userevents/userevents-go/record"
)

const (
	// maxDepth limits the nesting of lists and maps. Deeper ones become JSON texts.
	maxDepth = 64
	// searchable is the number of attributes up to which each new one is looked up in the pcommon.Map itself; beyond, a
	// Go map removes duplicates.
	searchable = 128

	memberSize = len(`{"key":,"value":{"kvlistValue":{"values":[]}}},`) // of an attribute in JSON, beside key and value
	numberSize = len(`"-9223372036854775808"`)
)

// putAll puts the fields into an empty map as attributes, and returns their approximate size in JSON. Of several fields
// with one name, the last one counts.
func (c *Converter) putAll(to pcommon.Map, fields []record.Field, depth int) (size int) {
	if len(fields) > searchable {
		return c.putMany(to, fields, depth)
	}
	to.EnsureCapacity(len(fields))
	for i := range fields {
		size += c.put(to, &fields[i], depth)
	}
	return size
}

// put puts a field as an attribute, and returns its approximate size in JSON. The usual types have methods of the map, which
// are faster than those of an empty value.
func (c *Converter) put(to pcommon.Map, f *record.Field, depth int) (size int) {
	name, size := c.texts.keepName(f.Name)
	size += memberSize
	switch f.Value.Type() {
	case record.TypeString:
		text, n := c.texts.keepSized(f.Value.Text())
		to.PutStr(name, text)
		return size + n
	case record.TypeInt64:
		to.PutInt(name, f.Value.Int64())
		return size + numberSize
	case record.TypeFloat64:
		to.PutDouble(name, f.Value.Float64())
		return size + numberSize
	default:
		return size + c.set(to.PutEmpty(name), f.Value, depth)
	}
}

// putMany is putAll for more than searchable fields. It loses their order, and the previous contents of the map.
func (c *Converter) putMany(to pcommon.Map, fields []record.Field, depth int) (size int) {
	last := make(map[string]record.Value, len(fields))
	raw := make(map[string]any, len(fields))
	for i := range fields {
		name := c.texts.keep(fields[i].Name)
		last[name], raw[name] = fields[i].Value, nil
	}
	_ = to.FromRaw(raw) // nil values never fail
	for name, value := range to.All() {
		size += c.set(value, last[name], depth) + jsonSize(name) + memberSize
	}
	return size
}

// putMissing puts an attribute unless the program has one with that name.
func putMissing(to pcommon.Map, name string, set func(pcommon.Value)) {
	if v, ok := to.GetOrPutEmpty(name); !ok {
		set(v)
	}
}

// set sets a value, and returns its approximate size in JSON beyond memberSize.
func (c *Converter) set(to pcommon.Value, v record.Value, depth int) (size int) {
	switch v.Type() {
	case record.TypeString:
		text, size := c.texts.keepSized(v.Text())
		to.SetStr(text)
		return size
	case record.TypeInt64:
		to.SetInt(v.Int64())
	case record.TypeUint64:
		to.SetStr(strconv.FormatUint(v.Uint64(), 10))
	case record.TypeFloat64:
		to.SetDouble(v.Float64())
	case record.TypeBool:
		to.SetBool(v.Bool())
	case record.TypeBytes:
		to.SetEmptyBytes().FromRaw(v.Bytes())
		return base64.StdEncoding.EncodedLen(len(v.Bytes()))
	case record.TypeList, record.TypeMap:
		return c.setContainer(to, v, depth)
	}
	return numberSize
}

func (c *Converter) setContainer(to pcommon.Value, v record.Value, depth int) (size int) {
	if depth == maxDepth {
		s := v.String()
		to.SetStr(s)
		return jsonSize(s)
	}
	if v.Type() == record.TypeMap {
		return c.putAll(to.SetEmptyMap(), v.Fields(), depth+1)
	}
	list := to.SetEmptySlice()
	list.EnsureCapacity(len(v.Fields()))
	for _, f := range v.Fields() {
		size += c.set(list.AppendEmpty(), f.Value, depth+1) + memberSize
	}
	return size
}

const (
	chunkSize  = 64 << 10
	knownNames = 512 // a name makes room for a later one with the same hash
	maxName    = 64  // bytes; longer ones are copied for each record
	emptySize  = len(`""`)
)

// texts copies texts of records into larger chunks of memory. Data that uses a text keeps its chunk alive.
type texts struct {
	chunk strings.Builder
	alone bool // without chunks, for data that is kept for long
	names [knownNames]knownName
	last  *knownName   // the one before: records have the same names in the same order
	seed  maphash.Seed // of the hashes
}

// knownName is a text that records repeat, with its size in JSON.
type knownName struct {
	text string
	size int
	next *knownName // the one that came after it
}

// keep returns a copy of a text that is valid UTF-8: other bytes become U+FFFD.
func (t *texts) keep(s string) string {
	text, _ := t.keepSized(s)
	return text
}

// keepSized is keep, and returns the size of the text in JSON, too.
func (t *texts) keepSized(s string) (text string, size int) {
	if s == "" {
		return "", emptySize
	}
	if isPlain(s) {
		return t.copy(s), len(s) + emptySize
	}
	size = jsonSize(s)
	if !utf8.ValidString(s) {
		return strings.ToValidUTF8(s, "\uFFFD"), size
	}
	return t.copy(s), size
}

func (t *texts) copy(s string) string {
	if t.alone || len(s) > chunkSize/8 {
		return strings.Clone(s)
	}
	if t.chunk.Len()+len(s) > t.chunk.Cap() {
		t.chunk = strings.Builder{}
		t.chunk.Grow(chunkSize)
	}
	at := t.chunk.Len()
	t.chunk.WriteString(s) // has capacity: texts returned before do not move
	return t.chunk.String()[at:]
}

// keepName is keepSized for a text that many records have, such as the name of an attribute. They share one copy of it.
func (t *texts) keepName(s string) (text string, size int) {
	if n := t.last.next; n.text == s && s != "" {
		t.last = n
		return n.text, n.size
	}
	return t.findName(s)
}

// findName is keepName for a text that the last one was not followed by before.
func (t *texts) findName(s string) (text string, size int) {
	if len(s) == 0 || len(s) > maxName {
		return t.keepSized(s)
	}
	n := &t.names[maphash.String(t.seed, s)%knownNames]
	if n.text != s {
		if !utf8.ValidString(s) {
			return t.keepSized(s)
		}
		n.text, n.size = strings.Clone(s), jsonSize(s)
	}
	t.last.next, t.last = n, n
	if n.next == nil {
		n.next = n
	}
	return n.text, n.size
}

// newTexts returns texts without any.
func newTexts() texts {
	none := new(knownName)
	none.next = none
	return texts{seed: maphash.MakeSeed(), last: none}
}

// timestamp returns a time in nanoseconds since 1970, and 0 for the zero time and earlier times.
func timestamp(t time.Time) pcommon.Timestamp {
	if t.IsZero() || t.Unix() < 0 {
		return 0
	}
	return pcommon.NewTimestampFromTime(t)
}

// timestampOr returns the timestamp of the first time, or that of the second one if the first is zero.
func timestampOr(t, otherwise time.Time) pcommon.Timestamp {
	if t.IsZero() {
		t = otherwise
	}
	return timestamp(t)
}

func jsonSize(s string) int {
	n := len(s) + emptySize
	if isPlain(s) {
		return n
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] == '"' || s[i] == '\\' {
			n += len(`\u0000`) - 1
		}
	}
	return n
}

// isPlain reports whether a text is printable ASCII without characters that JSON escapes.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c-' ' > '~'-' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
