package decode

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"

	_ "github.com/userevents/userevents-go/internal/memory/private"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// random generates attributes of all kinds that loggers accept, as the values to be read back.
type random struct{ *rand.Rand }

// rounds is how many random records a test writes.
func rounds() uint64 { return uint64(testscale.Count(2_000, 200)) }

func newRandom(seed uint64) random { return random{rand.New(rand.NewPCG(seed, 0))} }

func pick[E any](r random, list ...E) E { return list[r.IntN(len(list))] }

func (r random) text() string {
	return pick(r, "", "a", "GET", "/users/{id}", "größe", "日本語", "\xff", "abc\xffdef", "\xc3", "a\xed\xa0\x80b", "\uef80\uefff", "\ufffd",
		"a\nb", "\x00", "tab\there", `quote " and \ backslash`, `\n \x41 \u0041`, "\x1b[31m", "\u2028", "\u202e", "\U000e0041", "{", strings.Repeat("x", 70), "a \t\r\n")
}

func (r random) key() string {
	return pick(r, "key", "http.request.method", "größe", "a b", "x", "status", "route") + fmt.Sprint(r.IntN(1000))
}

func (r random) int() int64 {
	return pick(r, 0, 1, -1, 200, 70000, math.MaxInt64, math.MinInt64, r.Int64())
}

func (r random) float() float64 {
	return pick(r, 0, 1, -0.5, 0.1, 1e300, 1e20, 123456789012345678, math.Pi, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), r.Float64(), math.SmallestNonzeroFloat64)
}

// scalar returns a value that is neither a list nor a map.
func (r random) scalar() record.Value {
	switch r.IntN(6) {
	case 0:
		return record.BoolValue(r.IntN(2) == 0)
	case 1:
		return record.Float64Value(r.float())
	case 2:
		return record.BytesValue([]byte(r.text()))
	case 3:
		return record.StringValue(r.text())
	case 4:
		return record.Value{}
	default:
		return record.Int64Value(r.int())
	}
}

// value returns a value with lists and maps nested up to depth.
func (r random) value(depth int) record.Value {
	switch {
	case depth == 0 || r.IntN(3) > 0:
		return r.scalar()
	case r.IntN(2) == 0:
		return record.MapValue(r.fields(1+r.IntN(4), depth-1))
	}
	// A list of texts, integers, floats or booleans, for which formats have types.
	one := pick(r,
		func() record.Value { return record.StringValue(r.text()) },
		func() record.Value { return record.Int64Value(r.int()) },
		func() record.Value { return record.Float64Value(r.float()) },
		func() record.Value { return record.BoolValue(r.IntN(2) == 0) })
	list := []record.Field{{Value: one()}}
	for range r.IntN(4) {
		list = append(list, record.Field{Value: one()})
	}
	return record.ListValue(list)
}

// fields returns n fields. Several may have the same name.
func (r random) fields(n, depth int) []record.Field {
	list := make([]record.Field, n)
	for i := range list {
		list[i] = record.Field{Name: r.key(), Value: r.value(depth)}
	}
	return list
}

// elements returns the values of a list as a slice.
func elements[T any](v record.Value, one func(record.Value) T) (list []T) {
	for _, f := range v.Fields() {
		list = append(list, one(f.Value))
	}
	return list
}

// slogAttrs converts fields to attributes of package slog.
func slogAttrs(fields []record.Field) (attrs []slog.Attr) {
	for _, f := range fields {
		attrs = append(attrs, slogAttr(f))
	}
	return attrs
}

func slogAttr(f record.Field) slog.Attr {
	v := f.Value
	switch v.Type() {
	case record.TypeString:
		return slog.String(f.Name, v.Text())
	case record.TypeInt64:
		return slog.Int64(f.Name, v.Int64())
	case record.TypeUint64:
		return slog.Uint64(f.Name, v.Uint64())
	case record.TypeFloat64:
		return slog.Float64(f.Name, v.Float64())
	case record.TypeBool:
		return slog.Bool(f.Name, v.Bool())
	case record.TypeBytes:
		return slog.Any(f.Name, v.Bytes())
	case record.TypeMap:
		return slog.Attr{Key: f.Name, Value: slog.GroupValue(slogAttrs(v.Fields())...)}
	case record.TypeList:
		switch v.Fields()[0].Value.Type() {
		case record.TypeString:
			return slog.Any(f.Name, elements(v, record.Value.Text))
		case record.TypeInt64:
			return slog.Any(f.Name, elements(v, record.Value.Int64))
		case record.TypeFloat64:
			return slog.Any(f.Name, elements(v, record.Value.Float64))
		default:
			return slog.Any(f.Name, elements(v, record.Value.Bool))
		}
	default:
		return slog.Any(f.Name, nil)
	}
}

// otelAttrs converts fields to OpenTelemetry's attributes.
func otelAttrs(fields []record.Field) (attrs []attribute.KeyValue) {
	for _, f := range fields {
		attrs = append(attrs, attribute.KeyValue{Key: attribute.Key(f.Name), Value: otelValue(f.Value)})
	}
	return attrs
}

func otelValue(v record.Value) attribute.Value {
	switch v.Type() {
	case record.TypeString:
		return attribute.StringValue(v.Text())
	case record.TypeInt64:
		return attribute.Int64Value(v.Int64())
	case record.TypeFloat64:
		return attribute.Float64Value(v.Float64())
	case record.TypeBool:
		return attribute.BoolValue(v.Bool())
	case record.TypeBytes:
		return attribute.ByteSliceValue(v.Bytes())
	case record.TypeMap:
		return attribute.MapValue(otelAttrs(v.Fields())...)
	case record.TypeList:
		switch v.Fields()[0].Value.Type() {
		case record.TypeString:
			return attribute.StringSliceValue(elements(v, record.Value.Text))
		case record.TypeInt64:
			return attribute.Int64SliceValue(elements(v, record.Value.Int64))
		case record.TypeFloat64:
			return attribute.Float64SliceValue(elements(v, record.Value.Float64))
		default:
			return attribute.BoolSliceValue(elements(v, record.Value.Bool))
		}
	default:
		return attribute.Value{}
	}
}

// asJSON returns a value as JSON preserves it: without bytes and infinities.
func asJSON(v record.Value) record.Value {
	switch v.Type() {
	case record.TypeBytes:
		return record.StringValue(base64.StdEncoding.EncodeToString(v.Bytes()))
	case record.TypeFloat64:
		switch f := v.Float64(); {
		case math.IsNaN(f):
			return record.StringValue("NaN")
		case math.IsInf(f, 1):
			return record.StringValue("Infinity")
		case math.IsInf(f, -1):
			return record.StringValue("-Infinity")
		}
	case record.TypeList:
		var list []record.Field
		for _, f := range v.Fields() {
			list = append(list, record.Field{Value: asJSON(f.Value)})
		}
		return record.ListValue(list)
	case record.TypeMap:
		return record.MapValue(allAsJSON(v.Fields()))
	default:
	}
	return v
}

func allAsJSON(fields []record.Field) (list []record.Field) {
	for _, f := range lastOfEach(fields) {
		list = append(list, record.Field{Name: f.Name, Value: asJSON(f.Value)})
	}
	return list
}

// asHeader returns fields as EventHeader preserves them: with the type of each value. No name is escaped.
func asHeader(fields []record.Field) (list []record.Field) {
	for _, f := range lastOfEach(fields) {
		v := f.Value
		if v.Type() == record.TypeMap {
			v = record.MapValue(asHeader(v.Fields()))
		}
		list = append(list, record.Field{Name: f.Name, Value: v})
	}
	return list
}

// lastOfEach returns the last field of each name.
func lastOfEach(fields []record.Field) (list []record.Field) {
	for i, f := range fields {
		again := false
		for _, later := range fields[i+1:] {
			again = again || later.Name == f.Name
		}
		if !again {
			list = append(list, f)
		}
	}
	return list
}

// sorted returns fields sorted by name, each name once, as in OpenTelemetry's sets and maps.
func sorted(fields []record.Field) []record.Field {
	list := slices.Clone(lastOfEach(fields))
	slices.SortStableFunc(list, func(a, b record.Field) int { return strings.Compare(a.Name, b.Name) })
	return sortedMaps(list)
}

// sortedMaps returns fields with their maps sorted.
func sortedMaps(fields []record.Field) []record.Field {
	list := slices.Clone(fields)
	for i, f := range list {
		if f.Value.Type() == record.TypeMap {
			list[i].Value = record.MapValue(sorted(f.Value.Fields()))
		}
	}
	return list
}

// rig is a simulated kernel with a tool that records everything, and decoders of its events.
type rig struct {
	t        testing.TB
	kernel   *ueventstest.Kernel
	provider *uevents.Provider
	tool     *ueventstest.Tool
	decoders map[string]*record.Decoder
}

func newRig(t testing.TB) *rig {
	k := ueventstest.New(t, nil)
	r := &rig{t: t, kernel: k, provider: k.Provider(), decoders: map[string]*record.Decoder{}}
	t.Cleanup(func() { require.NoError(t, r.provider.Close()) })
	return r
}

// attach attaches the tool to registered events, by default to all.
func (r *rig) attach(names ...string) {
	r.t.Helper()
	if names == nil {
		names = []string{"*"}
	}
	tool := recordtest.Attach(r.t, r.kernel, ueventstest.Perf, names...)
	r.tool = tool
}

// raw returns a record in perf's form: after the common fields, and with undefined bytes at the end.
func raw(r ueventstest.Record) []byte {
	return append(append(make([]byte, tracepoint.CommonSize), r.Payload...), "\xCC{\"[\x00"...)
}

// decoder returns the decoder of a record's event.
func (r *rig) decoder(rec ueventstest.Record) *record.Decoder {
	r.t.Helper()
	if d := r.decoders[rec.Event]; d != nil {
		return d
	}
	text, err := r.kernel.Format(rec.Event)
	require.NoError(r.t, err)
	f, err := tracepoint.ParseFormat(text)
	require.NoError(r.t, err)
	d, err := record.NewDecoder(tracepoint.System, f)
	require.NoError(r.t, err)
	r.decoders[rec.Event] = d
	return d
}

// events decodes all records since the last call.
func (r *rig) events() (list []*record.Record) {
	r.t.Helper()
	for _, rec := range r.tool.Records() {
		ev := new(record.Record)
		require.NoError(r.t, r.decoder(rec).Decode(raw(rec), ev))
		list = append(list, ev)
	}
	return list
}

// event decodes the only record since the last call.
func (r *rig) event() *record.Record {
	r.t.Helper()
	list := r.events()
	require.Len(r.t, list, 1)
	return list[0]
}
