package payload

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/truncationtest"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
)

// The schema of the tests has a field of each class.
const (
	fieldTime = iota
	fieldID
	fieldTruncated
	fieldMessage
	fieldList
	fieldArray
	fieldResource
	fieldAttributes
)

var testSchema = MustSchema(
	Field{Name: "time", Type: U64},
	TraceID,
	Truncated,
	TextField("message"),
	Field{Name: "list", Type: String, Class: List},
	Field{Name: "array", Type: tracepoint.Dynamic(tracepoint.U16), Class: Array},
	Field{Name: "resource", Type: String, Class: JSON},
	Attributes,
)

// record is what a test writes.
type record struct {
	message    string
	list       string
	array      []byte // of u16
	resource   string
	attributes []string // texts
	number     bool     // an attribute that is a number
}

func build(r record, limit int) (payload []byte, truncated int) {
	at := testSchema.At
	var b Builder
	b.Begin(testSchema, nil, limit)
	b.PutU64(at[fieldTime], 42)
	b.ID(at[fieldID], []byte("0123456789abcdef"), true)
	b.Text(at[fieldMessage], r.message)
	begin := len(b.Buf)
	b.Buf = append(b.Buf, r.list...)
	b.EndRaw(at[fieldList], begin)
	begin = len(b.Buf)
	b.Buf = append(b.Buf, r.array[:min(len(r.array), limit&^1)]...)
	typedfield.EndArray(b.Buf, Base, Base+at[fieldArray], begin)
	b.Raw(at[fieldResource], []byte(r.resource))
	w := b.Object()
	for i, s := range r.attributes {
		w.Key(fmt.Sprint("k", i))
		w.String(s)
	}
	if r.number {
		w.Key("number")
		w.Int(12345)
	}
	b.EndObject(at[fieldAttributes], &w, attrjson.KeepAll)
	buf, truncated := b.End()
	return buf[Base:], truncated
}

// decode checks what holds for every payload, and returns its values.
func decode(t *testing.T, payload []byte, limit, truncated int) map[string]string {
	t.Helper()
	require.LessOrEqual(t, len(payload), limit)
	r := recordtest.Decode(t, testSchema.Layout.Declaration(), payload)
	values := map[string]string{}
	for _, f := range testSchema.Layout.Declaration().Fields {
		v, ok := r.Lookup(f.Name)
		require.True(t, ok, f.Name)
		values[f.Name] = string(v.AppendTo(nil))
	}
	require.Equal(t, "42", values["time"])
	require.Equal(t, "30313233343536373839616263646566", values["trace_id"])
	require.Equal(t, fmt.Sprint(truncated), values["truncated"])
	require.True(t, json.Valid([]byte(values["attributes"])), values["attributes"])
	return values
}

func TestWhole(t *testing.T) {
	payload, truncated := build(record{message: "m\n", list: "1,2", array: []byte{1, 0, 2, 0}, resource: `{"a":1}`, attributes: []string{"x"}, number: true}, 1000)
	assert.Zero(t, truncated)
	values := decode(t, payload, 1000, 0)
	assert.Equal(t, `m\n`, values["message"])
	assert.Equal(t, "1,2", values["list"])
	assert.Equal(t, `{"a":1}`, values["resource"])
	assert.Equal(t, `{"k0":"x","number":12345}`, values["attributes"])
	again, _ := build(record{message: "m\n", list: "1,2", array: []byte{1, 0, 2, 0}, resource: `{"a":1}`, attributes: []string{"x"}, number: true}, len(payload))
	assert.Equal(t, payload, again, "a payload of exactly the limit is not truncated")
}

// TestTruncated: whatever is long, the rest survives.
func TestTruncated(t *testing.T) {
	long := strings.Repeat("long ", 1400)
	short := record{message: "message", list: "1,2", array: []byte{1, 0}, resource: `{"a":1}`, attributes: []string{"short", "shorter"}, number: true}
	for name, change := range map[string]func(*record){
		"message":   func(r *record) { r.message = long },
		"list":      func(r *record) { r.list = strings.Repeat("1234,", 1000) + "1" },
		"array":     func(r *record) { r.array = make([]byte, 5000) },
		"resource":  func(r *record) { r.resource = `{"b":"` + long + `"}` },
		"attribute": func(r *record) { r.attributes = append(r.attributes, long) },
		"first":     func(r *record) { r.attributes = append([]string{long}, r.attributes...) },
		"two":       func(r *record) { r.message, r.attributes = long, append(r.attributes, long) },
		"huge": func(r *record) {
			r.attributes = append(r.attributes, strings.Repeat("x", 1<<20), strings.Repeat("y", 1<<20))
		},
	} {
		r := short
		r.attributes = append([]string{}, short.attributes...)
		change(&r)
		payload, truncated := build(r, 1000)
		assert.Positive(t, truncated, name)
		values := decode(t, payload, 1000, truncated)
		assert.Contains(t, values["attributes"], `"number":12345`, name)
		if r.message == short.message {
			assert.Equal(t, short.message, values["message"], name)
		}
		assert.Contains(t, values["attributes"], `"shorter"`, name)
		assert.Greater(t, len(payload), 900, name)
	}
}

// TestTwoObjects: of two objects, the attributes of the last one are dropped first. The others stay as long as they fit.
func TestTwoObjects(t *testing.T) {
	const n = 150
	r := record{message: "message", attributes: make([]string, n)}
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"r%d":%d`, i, i)
	}
	r.resource = "{" + strings.Join(members, ",") + "}"
	count := func(object string) int {
		var members map[string]any
		require.NoError(t, json.Unmarshal([]byte(object), &members))
		return len(members)
	}
	for _, limit := range []int{1000, 2000} {
		payload, truncated := build(r, limit)
		values := decode(t, payload, limit, truncated)
		assert.Equal(t, "message", values["message"])
		assert.Greater(t, len(payload), limit-20)
		resource, attributes := count(values["resource"]), count(values["attributes"])
		assert.Equal(t, 2*n, resource+attributes+truncated)
		assert.Equal(t, limit == 2000, resource == n)
		assert.Equal(t, limit == 2000, attributes > 0)
	}
}

func TestSubset(t *testing.T) {
	table := []Field{TraceID, {Name: "time", Type: U64}, Truncated, Attributes}
	s := Subset(table, 1, 2, 3)
	assert.Equal(t, "any u64 time; u32 truncated; __data_loc char[] attributes", s.Layout.Declaration().String())
	assert.Equal(t, []int{-1, 0, 8, 12}, s.At)
	var b Builder
	b.Begin(s, nil, 1000)
	b.PutU64(s.At[1], 42)
	b.Drop(1)
	buf, truncated := b.End()
	assert.Equal(t, 1, truncated)
	assert.Equal(t, uint32(1), binary.NativeEndian.Uint32(buf[Base+s.At[2]:]))
}

// TestLimits: under every limit that is allowed, every record fits.
func TestLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	text := func() string {
		return strings.Repeat([]string{"x", "ü", "\n", "\x00\xff", `"`, `\`, "\U0001f600"}[rng.IntN(7)], rng.IntN(1<<rng.IntN(14)))
	}
	for limit := testSchema.least; limit < 5000; limit += 1 + limit/100 {
		require.NoError(t, testSchema.CheckLimit(limit))
		for range testscale.Count(20, 2) {
			r := record{message: text(), list: strings.Repeat("17,", rng.IntN(200)), array: make([]byte, 2*rng.IntN(500)), number: rng.IntN(2) == 0}
			for range rng.IntN(1 << rng.IntN(9)) {
				r.attributes = append(r.attributes, text())
			}
			payload, truncated := build(r, limit)
			decode(t, payload, limit, truncated)
		}
	}
	require.EqualError(t, testSchema.CheckLimit(testSchema.least-1), fmt.Sprintf("a limit of %d bytes is too small: the event takes at least %d", testSchema.least-1, testSchema.least))
}

// values decodes the fields of a payload.
func values(t *testing.T, s *Schema, buf []byte) map[string]string {
	t.Helper()
	r := recordtest.Decode(t, s.Layout.Declaration(), buf[Base:])
	values := map[string]string{}
	for _, f := range s.Layout.Declaration().Fields {
		v, ok := r.Lookup(f.Name)
		require.True(t, ok, f.Name)
		values[f.Name] = string(v.AppendTo(nil))
	}
	return values
}

// TestPut: each number is written to its own field, and each part of a text.
func TestPut(t *testing.T) {
	s := MustSchema(
		Field{Name: "a", Type: U8}, Field{Name: "b", Type: U8}, Field{Name: "c", Type: tracepoint.Scalar(tracepoint.U16)},
		Field{Name: "d", Type: U32}, Field{Name: "e", Type: U64}, TextField("f"), TextField("g"), TextField("h"), TextField("i"),
	)
	var b Builder
	b.Begin(s, nil, 1000)
	b.PutU8(s.At[1], 2)
	b.PutU16(s.At[2], 3)
	b.PutU32(s.At[3], 4)
	b.PutU64(s.At[4], 5)
	begin := len(b.Buf)
	b.Buf = append(b.Buf, "one\x00two\x00"...)
	b.EndPart(s.At[5], begin, begin+4)
	b.EndPart(s.At[6], begin+4, begin+4)
	b.EndPart(s.At[7], begin+4, begin+8)
	b.Text(s.At[8], "three")
	buf, truncated := b.End()
	assert.Zero(t, truncated)
	assert.Equal(t, map[string]string{"a": "0", "b": "2", "c": "3", "d": "4", "e": "5", "f": "one", "g": "", "h": "two", "i": "three"}, values(t, s, buf))
}

// TestEmptyTexts: a text without a byte leaves the payload as it is.
func TestEmptyTexts(t *testing.T) {
	s := MustSchema(TextField("a"), TextField("b"))
	var b Builder
	b.Begin(s, nil, 1000)
	before := string(b.Buf)
	b.Text(s.At[0], "")
	b.Raw(s.At[0], nil)
	b.EndRaw(s.At[1], len(b.Buf))
	b.EndPart(s.At[1], len(b.Buf), len(b.Buf))
	buf, _ := b.End()
	assert.Equal(t, before, string(buf))
}

// TestTruncatedField: the count stands in the field, wherever that is, and nowhere if there is none.
func TestTruncatedField(t *testing.T) {
	for _, s := range []*Schema{MustSchema(Truncated, Field{Name: "a", Type: U32}), MustSchema(Field{Name: "a", Type: U32}, Truncated), MustSchema(Field{Name: "a", Type: U32})} {
		var b Builder
		b.Begin(s, nil, 1000)
		before := string(b.Buf)
		b.Drop(2)
		b.Drop(1)
		buf, truncated := b.End()
		assert.Equal(t, 3, truncated)
		got := values(t, s, buf)
		assert.Equal(t, "0", got["a"])
		if count, ok := got[Truncated.Name]; ok {
			assert.Equal(t, "3", count)
		} else {
			assert.Equal(t, before, string(buf))
		}
	}
}

// TestLeast: the least limit is what the fixed part, the ids, a mark for each text and an empty object take.
func TestLeast(t *testing.T) {
	for least, fields := range map[int][]Field{
		4 + 4:              {TextField("a")},
		4 + 3:              {Attributes},
		4 + 33:             {TraceID},
		4 + 4 + 4 + 17 + 4: {{Name: "list", Type: String, Class: List}, SpanID, {Name: "n", Type: U32}},
		4 + 4 + 4 + 4 + 3:  {TextField("a"), Attributes, {Name: "n", Type: U32}},
	} {
		s := MustSchema(fields...)
		assert.NoError(t, s.CheckLimit(least))
		assert.EqualError(t, s.CheckLimit(least-1), fmt.Sprintf("a limit of %d bytes is too small: the event takes at least %d", least-1, least))
	}
}

// TestTextsUseTheRoom: texts are cut to exactly the room that there is, whether they share it or not.
func TestTextsUseTheRoom(t *testing.T) {
	s := MustSchema(Truncated, TextField("a"), TextField("b"))
	for _, c := range []struct {
		a, b   int
		limit  int
		wa, wb string
	}{
		{1000, 0, 113, strings.Repeat("x", 97) + "...", ""},
		{1000, 1000, 214, strings.Repeat("x", 97) + "...", strings.Repeat("y", 97) + "..."},
		{1000, 10, 124, strings.Repeat("x", 97) + "...", strings.Repeat("y", 10)},
		{50, 60, 34, strings.Repeat("x", 7) + "...", strings.Repeat("y", 7) + "..."}, // less than 64 bytes each
		{50, 60, 20, "...", "..."},
		{50, 60, 14, "", ""}, // less than the least limit
	} {
		var b Builder
		b.Begin(s, nil, c.limit)
		b.Text(s.At[1], strings.Repeat("x", c.a))
		b.Text(s.At[2], strings.Repeat("y", c.b))
		buf, _ := b.End()
		got := values(t, s, buf)
		assert.Equal(t, c.wa, got["a"], c)
		assert.Equal(t, c.wb, got["b"], c)
		assert.LessOrEqual(t, len(buf)-Base, c.limit)
	}
}

// TestLongEscapes: a text of which no more than the limit is written says that it was cut, however long its escapes are.
func TestLongEscapes(t *testing.T) {
	s := MustSchema(TextField("a"))
	for limit := s.least; limit < 100; limit++ {
		var b Builder
		b.Begin(s, nil, limit)
		b.Text(s.At[0], strings.Repeat("\U000e0041", 100))
		buf, truncated := b.End()
		assert.Equal(t, 1, truncated, limit)
		assert.LessOrEqual(t, len(buf)-Base, limit)
		assert.Regexp(t, `^(\\U000e0041)*\.\.\.$`, values(t, s, buf)["a"], limit)
	}
}

// TestShortTextBesideAnObject: a text of 64 bytes stays whole while an object beside it has attributes to drop, and a
// longer one is cut to 64 bytes before they are.
func TestShortTextBesideAnObject(t *testing.T) {
	members := make([]string, 40)
	for i := range members {
		members[i] = fmt.Sprintf(`"k%02d":1`, i)
	}
	object := "{" + strings.Join(members, ",") + "}"
	s := MustSchema(TextField("a"), Attributes)
	const fixed = 4 + 4 + 2
	for _, length := range []int{64, 100} {
		for limit := fixed + 64 + len(`{}`); limit < fixed+length+len(object); limit++ {
			var b Builder
			b.Begin(s, nil, limit)
			b.Text(s.At[0], strings.Repeat("x", length))
			b.Raw(s.At[1], []byte(object))
			buf, truncated := b.End()
			require.LessOrEqual(t, len(buf)-Base, limit)
			got := values(t, s, buf)
			kept := min(40, (limit-fixed-64-len(`{}`)+1)/len(members[0]+","))
			require.Equal(t, kept, strings.Count(got["attributes"], ":"), limit)
			space := limit - fixed - len(got["attributes"])
			if space < length {
				require.Equal(t, strings.Repeat("x", space-3)+"...", got["a"], limit)
				require.Equal(t, 40-kept+1, truncated)
			} else {
				require.Equal(t, strings.Repeat("x", length), got["a"], limit)
				require.Equal(t, 40-kept, truncated)
			}
		}
	}
}

// TestTruncationCases: what all adapters promise holds for what they are built of.
func TestTruncationCases(t *testing.T) {
	schema := MustSchema(Truncated, TextField("message"), Attributes)
	for _, limit := range []int{4064, 1024} {
		for _, c := range truncationtest.Cases() {
			t.Run(fmt.Sprintf("%s/%d", c.Name, limit), func(t *testing.T) {
				var b Builder
				b.Begin(schema, nil, limit)
				b.Text(schema.At[1], c.Message)
				w := b.Object()
				writeAttrs(&w, c.Bound)
				writeAttrs(&w, c.Attrs)
				b.EndObject(schema.At[2], &w, attrjson.KeepAll)
				buf, truncated := b.End()

				r := recordtest.Decode(t, schema.Layout.Declaration(), buf[Base:])
				message, _ := r.Lookup("message")
				attributes, _ := r.Lookup("attributes")
				got := truncationtest.Record{Message: text.Unescape(string(message.AppendTo(nil))), Truncated: truncated, Size: len(buf) - Base}
				var err error
				got.Attributes, err = truncationtest.Object(string(attributes.AppendTo(nil)))
				require.NoError(t, err)
				assert.NoError(t, c.Check(limit, &got))
			})
		}
	}
}

func writeAttrs(w *attrjson.Writer, attrs []truncationtest.Attr) {
	for _, a := range attrs {
		w.Key(a.Key)
		if members, ok := a.Value.(truncationtest.Group); ok {
			g := w.Group()
			writeAttrs(w, members)
			w.Close(g)
		} else {
			w.Any(a.Value)
		}
	}
}

// TestTruncationOfDeepValues: a value whose keys and brackets alone are above the limit costs no attribute before it.
func TestTruncationOfDeepValues(t *testing.T) {
	type list struct {
		N    int   `json:"n"`
		Next *list `json:"next"`
	}
	var long *list
	for i := range 500 {
		long = &list{i, long}
	}
	cycle := map[string]any{}
	cycle["self"] = cycle
	wide := map[string]any{}
	for i := range 300 {
		wide[fmt.Sprintf("a long key of an object %d", i)] = map[string]any{"name": i}
	}
	schema := MustSchema(Truncated, TextField("message"), Attributes)
	for name, a := range map[string]truncationtest.Attr{
		"list":       {Key: "k", Value: long},
		"cycle":      {Key: "k", Value: cycle},
		"objects":    {Key: "k", Value: wide},
		"large name": {Key: strings.Repeat("k", 5000), Value: truncationtest.Group{{Key: "x", Value: int64(1)}}},
	} {
		var b Builder
		b.Begin(schema, nil, 4064)
		w := b.Object()
		writeAttrs(&w, truncationtest.Survivors())
		writeAttrs(&w, []truncationtest.Attr{a, {Key: "after", Value: int64(1)}})
		b.EndObject(schema.At[2], &w, attrjson.KeepAll)
		buf, truncated := b.End()
		assert.LessOrEqual(t, len(buf)-Base, 4064, name)
		assert.Positive(t, truncated, name)
		r := recordtest.Decode(t, schema.Layout.Declaration(), buf[Base:])
		attributes, _ := r.Lookup("attributes")
		got, err := truncationtest.Object(string(attributes.AppendTo(nil)))
		require.NoError(t, err)
		for _, key := range []string{"n", "err", "request_id"} {
			assert.Contains(t, got, key, name)
		}
		if name == "large name" {
			assert.Contains(t, got, "after", name)
		}
	}
}
