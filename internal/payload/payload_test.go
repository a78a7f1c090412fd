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

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/testscale"
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
	decoder, err := typed.NewDecoder(testSchema.Layout.Declaration(), nil)
	require.NoError(t, err)
	r, err := decoder.Decode(payload)
	require.NoError(t, err)
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
