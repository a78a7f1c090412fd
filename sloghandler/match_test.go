package sloghandler_test

import (
	"context"
	"fmt"
	"log/slog"
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
