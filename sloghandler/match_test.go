package sloghandler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestDottedKeys: the parts of a declared key before its dots are names of groups, the innermost ones around the attribute.
func TestDottedKeys(t *testing.T) {
	type record struct {
		Method string `uevent:"http.method"`
		Route  string `uevent:"http.route.name"`
	}
	declared := []sloghandler.AnyDeclaration{sloghandler.Declare[record]("m", nil)}
	group := func(name string, args ...any) slog.Attr { return slog.Group(name, args...) }
	for _, c := range []struct {
		attr          slog.Attr
		method, route string
	}{
		{slog.String("http.method", "GET"), "GET", ""},
		{group("http", "method", "GET"), "GET", ""},
		{group("outer", group("http", "method", "GET")), "GET", ""},
		{group("http", "route.name", "/"), "", "/"},
		{group("http", group("route", "name", "/")), "", "/"},
		{group("http.route", "name", "/"), "", "/"},
		{group("", group("http", "method", "GET")), "GET", ""},
		{slog.String("method", "GET"), "", ""},
		{group("other", "method", "GET"), "", ""},
		{group("shttp", "method", "GET"), "", ""},
		{group("h", group("ttp", "method", "GET")), "", ""},
		{group("http", "ethod", "GET"), "", ""},
		{group("http", group("inner", "method", "GET")), "", ""},
		{group("route", group("http", "name", "/")), "", ""},
		{group("route", "name", "/"), "", ""},
	} {
		h, tr := attached(t, sloghandler.Options{Declarations: declared})
		slog.New(h).LogAttrs(t.Context(), slog.LevelInfo, "m", c.attr)
		r := only(t, tr)
		assert.Equal(t, c.method, r.fields["http_method"], c.attr)
		assert.Equal(t, c.route, r.fields["http_route_name"], c.attr)
		assert.Equal(t, c.method+c.route == "", len(r.attributes) > 0, "%v is a field or an attribute", c.attr)
	}
}

// TestDottedKeysInOpenGroups: so are groups that the handler has opened.
func TestDottedKeysInOpenGroups(t *testing.T) {
	type record struct {
		Method string `uevent:"http.method"`
		Other  string `uevent:"other"`
	}
	declared := []sloghandler.AnyDeclaration{sloghandler.Declare[record]("m", nil)}
	h, tr := attached(t, sloghandler.Options{Declarations: declared})
	for _, groups := range [][]string{{"http"}, {"outer", "http"}} {
		log := slog.New(h)
		for _, group := range groups {
			log = log.WithGroup(group)
		}
		log.Info("m", "method", "GET")
		assert.Equal(t, "GET", only(t, tr).fields["http_method"], groups)
	}
}

// TestFewerThan64Fields: a declaration has room for fewer fields than the words of a stream have bits.
func TestFewerThan64Fields(t *testing.T) {
	type record struct {
		A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T, U, V, W, X, Y, Z                           uint8
		A0, B0, C0, D0, E0, F0, G0, H0, I0, J0, K0, L0, M0, N0, O0, P0, Q0, R0, S0, T0, U0, V0, W0, X0, Y0, Z0 uint8
		A1, B1, C1, D1, E1, F1, G1, H1, I1, J1, K1, L1                                                         uint8
	}
	p := ueventstest.New(t, nil).Provider()
	defer p.Close()
	h, err := sloghandler.New("a", &sloghandler.Options{Provider: p, Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[record]("m", nil)}})
	require.ErrorContains(t, err, "bytes long, the kernel takes 511")
	require.NoError(t, h.Close())
}

// unchanged is a ReplaceAttr that changes nothing: the attributes of each record are resolved.
func unchanged(_ []string, a slog.Attr) slog.Attr { return a }

// TestStreamedLikeSettled: the declared fields of a record are the same whether they are found as attributes come or in lists.
func TestStreamedLikeSettled(t *testing.T) {
	type record struct {
		A int    `uevent:"a"`
		S string `uevent:"s"`
		B int    `uevent:"b"`
		T string `uevent:"t"`
	}
	declared := []sloghandler.AnyDeclaration{sloghandler.Declare[record]("m", nil)}
	many := func(n int, last ...any) (args []any) {
		for i := range n {
			args = append(args, slog.Int(fmt.Sprint("x", i), i))
		}
		return append(args, last...)
	}
	for want, args := range map[string][]any{
		`1 a 2 b {}`:                   {"a", 1, "s", "a", "b", 2, "t", "b"},
		`3 a 2 b {}`:                   {"t", "b", "b", 2, "s", "a", "a", 3},
		`0  0  {}`:                     {},
		`1  0  {"g":{"a":2}}`:          {"a", 1, slog.Group("g", "a", 2)},
		`2  0  {"a":1}`:                {"a", 1, "a", 2},
		`0  3  {"b":1,"b":2}`:          {"b", 1, "b", 2, "b", 3},
		`0 z 0  {"s":"y"}`:             {"s", "y", "s", "z"},
		`0  0 z {"t":"y","x":1}`:       {"t", "y", "x", 1, "t", "z"},
		`0  5  {"a":"no","x":{"y":1}}`: {"a", "no", "b", 5, slog.Group("x", "y", 1)},
		`0  6  {}`:                     {slog.Group("a", "b", 6)},
		`0  0  {"a":{"x":6}}`:          {slog.Group("a", "x", 6)},
		`7  0  {}`:                     {"x", valuer{slog.GroupValue(slog.Int("a", 7))}},
		`8  0  {"x":9}`:                {"a", valuer{slog.IntValue(8)}, "x", valuer{slog.IntValue(9)}},
		`0  0  {"a":{"x":1}}`:          {"a", valuer{slog.GroupValue(slog.Int("x", 1))}},
		`0 4 0  {}`:                    {"s", 4},
		`9 last 0  ` + jsonOfMany(62):  many(62, "a", 9, "s", "last"),
		`9 last 0  ` + jsonOfMany(63):  many(63, "a", 9, "s", "last"),
		`9 last 0  ` + jsonOfMany(64):  many(64, "a", 9, "s", "last"),
		`0  0  ` + jsonOfMany(70):      many(70),
	} {
		for _, replace := range []func([]string, slog.Attr) slog.Attr{nil, unchanged} {
			h, tr := attached(t, sloghandler.Options{Declarations: declared, ReplaceAttr: replace})
			slog.New(h).Info("m", args...)
			r := only(t, tr)
			got := fmt.Sprint(r.fields["a"], " ", r.fields["s"], " ", r.fields["b"], " ", r.fields["t"], " ", r.json)
			assert.Equal(t, want, got, "resolved: %v", replace != nil)
		}
	}
}

func jsonOfMany(n int) string {
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf(`"x%d":%d`, i, i))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// TestTwoFieldsForOneAttribute: an attribute that the first field cannot hold is that of the next one that it matches.
func TestTwoFieldsForOneAttribute(t *testing.T) {
	type record struct {
		Number int    `uevent:"x.n"`
		Text   string `uevent:"n"`
	}
	h, tr := attached(t, declaring(sloghandler.Declare[record]("m", nil)))
	for value, want := range map[any]string{5: "5 ", "text": "0 text"} {
		slog.New(h).Info("m", slog.Group("x", "n", value))
		r := only(t, tr)
		assert.Equal(t, want, r.fields["x_n"]+" "+r.fields["n"])
		assert.Empty(t, r.attributes)
	}
}

// TestReplacedByLogValuer: a declared field has the value of a LogValuer that ReplaceAttr returns.
func TestReplacedByLogValuer(t *testing.T) {
	type record struct {
		A int `uevent:"a"`
	}
	h, tr := attached(t, sloghandler.Options{
		Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[record]("m", nil)},
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == "a" {
				a.Value = slog.AnyValue(valuer{slog.IntValue(7)})
			}
			return a
		},
	})
	slog.New(h).Info("m", "a", 1)
	assert.Equal(t, "7", only(t, tr).fields["a"])
}

// TestManyDeclarations: each message has its declaration, however many there are.
func TestManyDeclarations(t *testing.T) {
	type record struct {
		N int `uevent:"n"`
	}
	for count := 1; count < 10; count++ {
		var list []sloghandler.AnyDeclaration
		for i := range count {
			list = append(list, sloghandler.Declare[record](fmt.Sprintf("message %d", i), nil))
		}
		h, tr := attached(t, sloghandler.Options{Declarations: list})
		for i := range count + 1 { // the last one is not declared
			slog.New(h).Info(fmt.Sprintf("message %d", i), "n", i)
			r := only(t, tr)
			if i == count {
				assert.Equal(t, "app_info", r.event)
				continue
			}
			assert.Equal(t, fmt.Sprintf("app_message_%d", i), r.event)
			assert.Equal(t, fmt.Sprint(i), r.fields["n"])
		}
	}
}

// TestDeclaredForAllLevels: a declaration without levels is for all of them.
func TestDeclaredForAllLevels(t *testing.T) {
	type record struct {
		N int `uevent:"n"`
	}
	h, tr := attached(t, declaring(sloghandler.Declare[record]("m", nil)))
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		slog.New(h).Log(t.Context(), level, "m", "n", int(level))
		assert.Equal(t, fmt.Sprint(int(level)), only(t, tr).fields["n"])
	}
}

// TestDisabledIsNotCounted: records that reach a handler whose events are disabled are not counted.
func TestDisabledIsNotCounted(t *testing.T) {
	type record struct {
		N int `uevent:"n"`
	}
	h, k := newHandler(t, declaring(sloghandler.Declare[record]("m", nil)))
	handle := func() {
		for _, message := range []string{"m", "other"} {
			r := slog.Record{Level: slog.LevelInfo, Message: message}
			require.NoError(t, h.Handle(context.Background(), r))
		}
	}
	handle()
	for _, events := range []string{"app_error*", "app_m"} {
		tool := attach(t, k, events)
		handle()
		tool.Detach()
	}
	for name, n := range h.Stats() {
		want := uevents.EventStats{}
		if name == "app_m" {
			want = uevents.EventStats{Written: 1, Matched: true}
		}
		assert.Equal(t, want, n, name)
	}
}

// TestMostSpecificField: an attribute in a group is for the field whose key names the group, whatever comes first.
func TestMostSpecificField(t *testing.T) {
	type record struct {
		ID     int `uevent:"id"`
		UserID int `uevent:"user.id"`
	}
	declared := sloghandler.Declare[record]("user", nil)
	h, tr := attached(t, declaring(declared))
	for _, args := range [][]any{
		{"id", 1, slog.Group("user", "id", 2)},
		{slog.Group("user", "id", 2), "id", 1},
		{slog.Group("user", "id", 2)},
	} {
		slog.New(h).Info("user", args...)
		r := decoded(t, tr.Records()[0])
		assert.Equal(t, "2", r.fields["user_id"], "%v", args)
		assert.Equal(t, "{}", r.json, "%v", args)
	}
}

// TestUnconvertedOnce: what counts is an attribute that no field took, once.
func TestUnconvertedOnce(t *testing.T) {
	type record struct {
		Number int    `uevent:"x.n"`
		Text   string `uevent:"n"`
		Other  int    `uevent:"o"`
		Deep   int    `uevent:"x.o"`
	}
	declared := sloghandler.Declare[record]("m", nil)
	for want, a := range []slog.Attr{slog.Group("x", "n", "text"), slog.Group("x", "o", "text")} {
		h, _ := attached(t, declaring(declared))
		slog.New(h).Info("m", a)
		assert.EqualValues(t, want, h.Stats()["app_m"].Unconverted, "%v", a)
	}
}

// TestUniqueKeysOfFields: duplicates are attributes of one key, whether a field holds them or not; two keys of one field are none.
func TestUniqueKeysOfFields(t *testing.T) {
	for _, c := range []struct {
		args []any
		json string
	}{
		{[]any{"status", "bad", "status", 200}, `{}`},
		{[]any{"status", slog.GroupValue(slog.Int("a", 1)), "status", 200}, `{}`},
		{[]any{"latency", time.Second, "latency_ns", 2 * time.Second}, `{"latency":1000000000}`},
	} {
		for name, log := range map[string]func(*sloghandler.Handler){
			"call":  func(h *sloghandler.Handler) { slog.New(h).Info("http request", c.args...) },
			"bound": func(h *sloghandler.Handler) { slog.New(h).With(c.args[:2]...).Info("http request", c.args[2:]...) },
		} {
			h, tr := attached(t, sloghandler.Options{UniqueKeys: true, Declarations: []sloghandler.AnyDeclaration{httpRequest}})
			log(h)
			assert.Equal(t, c.json, decoded(t, tr.Records()[0]).json, "%s: %v", name, c.args)
		}
	}
}

// TestAllocationsOfSettled: looking at all attributes before the first is written takes memory of a pool only.
func TestAllocationsOfSettled(t *testing.T) {
	testscale.CountAllocations(t)
	deep := slog.Group("a", slog.Group("b", slog.Group("c", slog.Group("d", slog.Int("e", 1)))))
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "http request", 0)
	r.AddAttrs(slog.Int("status", 200), deep)
	for i := range 20 {
		r.AddAttrs(slog.Int(strconv.Itoa(i), i))
	}
	for path, o := range paths {
		o.Declarations = []sloghandler.AnyDeclaration{httpRequest}
		h, _ := attached(t, o)
		bound := h.WithAttrs([]slog.Attr{slog.String("method", "GET")}).WithGroup("g")
		for name, h := range map[string]slog.Handler{"plain": h, "bound": bound} {
			assert.Zero(t, testing.AllocsPerRun(20, func() { _ = h.Handle(t.Context(), r) }), "%s: %s", path, name)
		}
	}
}

// kept says that a value cannot be converted: the attribute stays in the field attributes.
const kept = "-"

// converted tests which values of attributes become which text of a field of type T.
func converted[T any](t *testing.T, want map[any]string) {
	t.Run(fmt.Sprintf("%T", *new(T)), func(t *testing.T) {
		type record struct {
			K T `uevent:"k"`
		}
		convertedTo(t, "k", sloghandler.Declare[record]("m", nil), want)
	})
}

func convertedTo(t *testing.T, name string, d sloghandler.AnyDeclaration, want map[any]string) {
	t.Helper()
	h, tr := attached(t, declaring(d))
	for in, want := range want {
		before := h.Stats()["app_m"].Unconverted
		slog.New(h).Info("m", "k", in)
		r := only(t, tr)
		require.Equal(t, "app_m", r.event)
		unconverted := h.Stats()["app_m"].Unconverted - before
		if want == kept {
			assert.Contains(t, r.attributes, "k", "%T %v", in, in)
			assert.EqualValues(t, 1, unconverted, "%T %v", in, in)
			continue
		}
		assert.Equal(t, "{}", r.json, "%T %v", in, in)
		assert.Zero(t, unconverted, "%T %v", in, in)
		assert.Equal(t, want, r.fields[name], "%T %v", in, in)
	}
}

// TestConversions is the table of which value becomes what in which field. Nothing is lost and nothing is guessed: numbers
// have no unit, and truth values are no numbers.
func TestConversions(t *testing.T) {
	type (
		named      int8
		namedUint  uint16
		namedFloat float32
		namedBool  bool
	)
	at := time.Unix(1_000_000_000, 123456789).UTC()
	converted[string](t, map[any]string{
		"text": "text", 12: "12", uint64(math.MaxUint64): "18446744073709551615", true: "true", 0.1: "0.1",
		time.Second: "1s", at: "2001-09-09T01:46:40.123456789Z", errors.New("an error"): "an error", time.March: "March",
		[2]byte{1, 2}: kept, struct{}{}: kept, nil: kept,
		namedUint(3): "3", namedFloat(0.5): "0.5", namedBool(true): "true",
	})
	converted[bool](t, map[any]string{
		true: "1", false: "0", "true": "1", "false": "0", namedBool(true): "1", namedBool(false): "0",
		0: kept, 1: kept, 2: kept, uint8(1): kept, 1.0: kept, named(1): kept, "yes": kept, "1": kept, time.Duration(1): kept,
	})
	integers := func(more map[any]string) map[any]string {
		all := map[any]string{
			7: "7", uint8(7): "7", 7.0: "7", "7": "7", named(7): "7", namedUint(7): "7", namedFloat(7): "7", time.March: "3",
			namedBool(true): kept,
			7.5:             kept, math.NaN(): kept, 1e300: kept, "+7": kept, "07": kept, "7.0": kept, "": kept,
			true: kept, false: kept, time.Nanosecond: kept, time.Hour: kept, at: kept, nil: kept,
		}
		maps.Copy(all, more)
		return all
	}
	converted[int8](t, integers(map[any]string{-128: "-128", 127: "127", 128: kept, 200: kept, uint8(200): kept, "200": kept, "127": "127", "-128": "-128", "-129": kept, 200.0: kept, -129: kept}))
	converted[int16](t, integers(map[any]string{-32768: "-32768", 32768: kept, uint16(40000): kept, "-32769": kept}))
	converted[int32](t, integers(map[any]string{math.MinInt32: "-2147483648", int64(math.MaxInt32) + 1: kept, named(-7): "-7"}))
	converted[int64](t, integers(map[any]string{int64(math.MinInt64): "-9223372036854775808", uint64(math.MaxUint64): kept, "-12": "-12"}))
	converted[int](t, integers(map[any]string{-7: "-7"}))
	converted[uint8](t, integers(map[any]string{255: "255", 256: kept, -1: kept}))
	converted[uint16](t, integers(map[any]string{"65535": "65535", "65536": kept}))
	converted[uint32](t, integers(map[any]string{uint64(math.MaxUint32): "4294967295", uint64(math.MaxUint32) + 1: kept}))
	converted[uint64](t, integers(map[any]string{
		uint64(math.MaxUint64): "18446744073709551615", "18446744073709551615": "18446744073709551615",
		float64(1 << 63): "9223372036854775808", -0.5: kept,
	}))
	for _, floats := range []func(*testing.T, map[any]string){converted[float64], converted[float32]} {
		floats(t, map[any]string{
			0.25: "0.25", 3: "3", int64(math.MaxInt64): kept, uint64(1 << 63): "9223372036854776000", "0.5": "0.5", "0.50": kept,
			math.Inf(1): "Infinity", true: kept, time.Second: kept, at: kept,
		})
	}
	converted[time.Duration](t, map[any]string{
		time.Hour: "3600000000000", "1h0m0s": "3600000000000", "1h": kept,
		5: kept, uint64(5): kept, 5.0: kept, "5": kept, named(5): kept, true: kept, at: kept,
	})
	converted[time.Time](t, map[any]string{
		at: "1000000000123456789", time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC): kept, time.Unix(-1, 0): kept,
		5: kept, uint64(5): kept, -5: kept, "2001-09-09T01:46:40Z": kept, "5": kept, time.Second: kept,
	})
	type state string
	converted[state](t, map[any]string{"on": "on", state("off"): "off", 1: "1"})
	addr := netip.MustParseAddr("2001:db8::1")
	converted[netip.Addr](t, map[any]string{addr: "2001:db8::1", "192.0.2.1": "192.0.2.1"})
}

// TestConversionOfScaledFloats: a number with a fraction is written as a multiple. An integer may be one already.
func TestConversionOfScaledFloats(t *testing.T) {
	type record struct {
		K float64 `uevent:"k,scale=1000"`
	}
	convertedTo(t, "k", sloghandler.Declare[record]("m", nil), map[any]string{
		1.5: "1500", -0.0004: "0", float32(0.25): "250", 2: kept, "1.5": kept, true: kept,
		9e15: "9000000000000000000", -9e15: "-9000000000000000000", 1e16: kept, -1e300: kept, math.NaN(): kept, math.Inf(1): kept,
	})
}

// TestConversionAtEnds: the smallest and the largest number that a multiple can be.
func TestConversionAtEnds(t *testing.T) {
	type record struct {
		K float64 `uevent:"k,scale=2"`
	}
	convertedTo(t, "k", sloghandler.Declare[record]("m", nil), map[any]string{
		-float64(1 << 62): "-9223372036854775808", math.Nextafter(-1<<62, math.Inf(-1)): kept,
		float64(1 << 62): kept, math.Nextafter(1<<62, 0): "9223372036854774784",
	})
}

// panicsAsText are values whose own methods, which a field with text asks first, panic.
type (
	panicsAsError  struct{ N int }
	panicsAsText   struct{ N int }
	panicsAsString struct{ N int }
)

func (panicsAsError) Error() string               { panic("no error") }
func (panicsAsText) MarshalText() ([]byte, error) { panic("no text") }
func (panicsAsString) String() string             { panic("no string") }

// TestConversionPanics: a value whose method panics stays an attribute, and the rest of the record is written.
func TestConversionPanics(t *testing.T) {
	type record struct {
		K string `uevent:"k"`
		N int    `uevent:"n"`
	}
	h, tr := attached(t, declaring(sloghandler.Declare[record]("m", nil)))
	for _, v := range []any{panicsAsError{}, panicsAsText{}, panicsAsString{}, (*panicsAsString)(nil)} {
		slog.New(h).Info("m", "k", v, "n", 5)
		r := only(t, tr)
		assert.Contains(t, r.attributes, "k", "%T", v)
		assert.Empty(t, r.fields["k"], "%T", v)
		assert.Equal(t, "5", r.fields["n"], "%T", v)
	}
}

// TestConversionOfArrays: only a struct has the value of an array or an id. An attribute of that name has no field.
func TestConversionOfArrays(t *testing.T) {
	type record struct {
		ID    [4]byte  `uevent:"id"`
		Codes []uint16 `uevent:"codes"`
		N     int      `uevent:"n"`
	}
	h, tr := attached(t, declaring(sloghandler.Declare[record]("m", nil)))
	slog.New(h).Info("m", "id", "01020304", "codes", []uint16{1, 2}, "n", 3)
	r := only(t, tr)
	assert.Equal(t, `{"id":"01020304","codes":[1,2]}`, r.json)
	assert.Empty(t, r.fields["id"])
	assert.Equal(t, "3", r.fields["n"])
	assert.Zero(t, h.Stats()["app_m"].Unconverted)
}
