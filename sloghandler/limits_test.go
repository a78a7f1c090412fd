package sloghandler_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/truncationtest"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// longFields are the fields of a declared record whose names take much of a small limit.
type longFields struct {
	N    int64  `uevent:"n"`
	Text string `uevent:"long_long_long_long_long_long_long_long_long_long_long_long_"`
}

var longName = sloghandler.Declare[longFields]("declared", &sloghandler.DeclarationOptions{Name: strings.Repeat("long_name_", 12)})

// TestEveryLimit: New refuses a limit, or all records can be written under it, whatever they hold. None disappears.
func TestEveryLimit(t *testing.T) {
	testscale.HostOnly(t)
	accepted := 0
	long := strings.Repeat("long ", 100)
	step := testscale.Count(1, 7)
	for limit := 1; limit < 500; limit += step {
		k := ueventstest.New(t, nil)
		p := k.Provider()
		h, err := sloghandler.New("app", &sloghandler.Options{
			Provider: p, MaxPayload: limit, AddSource: true, Declarations: []sloghandler.AnyDeclaration{longName},
			TraceContext: func(context.Context) ([16]byte, [8]byte) { return [16]byte{1}, [8]byte{2} },
		})
		if err == nil {
			accepted++
			tr := recordtest.Attach(t, k, ueventstest.Ftrace, "app_*")
			logged := 0
			for _, message := range []string{"", "m", long, "declared"} {
				r := slog.NewRecord(time.Now(), slog.LevelError, message, here())
				r.AddAttrs(slog.Int("n", 1), slog.String("text", long), slog.Group("g", slog.Bool("b", true)))
				assert.NoError(t, h.Handle(t.Context(), r), "limit %d, message %.10q", limit, message)
				records := tr.Records()
				assert.NotEmpty(t, records, "limit %d, message %.10q", limit, message)
				logged += len(records)
				for _, raw := range records {
					assert.LessOrEqual(t, len(raw.Payload), limit)
					assert.NotEqual(t, "0", decoded(t, raw).fields["truncated"])
				}
			}
			var written, failed, cut uint64
			for _, s := range h.Stats() {
				written, failed, cut = written+s.Written, failed+s.Refused, cut+s.Truncated
			}
			assert.EqualValues(t, logged, written, "limit %d", limit)
			assert.EqualValues(t, logged, cut, "limit %d", limit)
			assert.Zero(t, failed, "limit %d", limit)
		}
		require.NoError(t, h.Close())
		require.NoError(t, p.Close())
	}
	assert.Greater(t, accepted, 100/step)
}

// TestSizes logs records of growing sizes: each is written, none is above the limit, and
// what had to be truncated is counted.
func TestSizes(t *testing.T) {
	for _, o := range []sloghandler.Options{
		{},
		{AddSource: true},
		{MaxPayload: 300},
		{Declarations: []sloghandler.AnyDeclaration{httpRequest}},
	} {
		t.Run(fmt.Sprintf("%d %v %d", o.MaxPayload, o.AddSource, len(o.Declarations)), func(t *testing.T) {
			h, tr := attached(t, o)
			limit := o.MaxPayload
			if limit == 0 {
				limit = tracepoint.MaxPayload
			}
			records, copies := 0, map[bool]int{false: 1, true: 2}
			for n := 0; n < 120; n += testscale.Count(1, 9) {
				long := strings.Repeat("é", n*n/2)
				for _, message := range []string{"http request", "m" + long} {
					slog.New(h).With("with", long).Info(message, "method", long, "route", long, slog.Group("g", "text", long), "n", n)
					raw := tr.Records()
					records += len(raw)
					require.Len(t, raw, copies[message == "http request" && len(o.Declarations) > 0], "%d", n)
					for _, raw := range raw {
						assert.LessOrEqual(t, len(raw.Payload), limit)
						r := decoded(t, raw)
						// A member that was dropped has no mark: all long texts must be there.
						delete(r.fields, "attributes") // it is r.json
						text := fmt.Sprint(r.fields, r.json)
						whole := !strings.Contains(text, "...") && strings.Contains(text, `"n":`+strconv.Itoa(n)) &&
							strings.Count(text, long) >= 4+strings.Count(message, "m"+long)
						require.Equal(t, whole, r.fields["truncated"] == "0", "%d bytes: %.2000s", n*n, text)
						for name, value := range r.fields {
							assert.True(t, utf8.ValidString(value), name)
						}
					}
				}
			}
			assert.Zero(t, tr.Oversized())
			var written, truncated uint64
			for _, s := range h.Stats() {
				written += s.Written
				truncated += s.Truncated
				assert.Zero(t, s.Refused)
			}
			assert.EqualValues(t, records, written)
			assert.Positive(t, truncated)
			assert.Less(t, truncated, written)
		})
	}
}

// TestTruncation: a record that is too large is cut fairly, and says so.
func TestTruncation(t *testing.T) {
	for _, limit := range []int{4064, 1024} {
		h, tr := attached(t, sloghandler.Options{MaxPayload: limit})
		for _, c := range truncationtest.Cases() {
			t.Run(fmt.Sprintf("%s/%d", c.Name, limit), func(t *testing.T) {
				handler := slog.Handler(h)
				if len(c.Bound) > 0 {
					handler = h.WithAttrs(slogAttrs(c.Bound))
				}
				before := h.Stats()["app_info"]
				slog.New(handler).LogAttrs(t.Context(), slog.LevelInfo, c.Message, slogAttrs(c.Attrs)...)
				records := tr.Records()
				require.Len(t, records, 1)
				got := readRecord(t, records[0])
				assert.NoError(t, c.Check(limit, &truncationtest.Record{
					Message: got.message, Attributes: asMap(got.attributes), Truncated: got.truncated, Size: len(records[0].Payload),
				}))
				after := h.Stats()["app_info"]
				assert.Equal(t, got.truncated > 0, after.Truncated > before.Truncated, "what Stats says")
			})
		}
	}
}

func slogAttrs(attrs []truncationtest.Attr) (list []slog.Attr) {
	for _, a := range attrs {
		if g, ok := a.Value.(truncationtest.Group); ok {
			a.Value = slogAttrs(g)
		}
		list = append(list, slog.Any(a.Key, a.Value))
	}
	return list
}

// asMap returns an object as a map.
func asMap(list members) map[string]any {
	m := make(map[string]any, len(list))
	for _, member := range list {
		if object, ok := member.value.(members); ok {
			member.value = asMap(object)
		}
		m[member.key] = member.value
	}
	return m
}

// TestLoggerAroundLimit: a Logger truncates what a slog.Logger truncates, and counts it once, for texts of all sizes around the limit and
// characters of all sizes.
func TestLoggerAroundLimit(t *testing.T) {
	testscale.HostOnly(t)
	type record struct {
		Text string `uevent:"text"`
		N    int    `uevent:"n"`
	}
	d := sloghandler.Declare[record]("m", nil)
	const limit = 300
	h, tr := attached(t, sloghandler.Options{Declarations: []sloghandler.AnyDeclaration{d}, MaxPayload: limit})
	direct, general := d.Logger(h), slog.New(h)
	whole, cut := 0, 0
	for _, char := range []string{"x", "ü", "€", "𝄞", "\n", `"`} {
		for n := 0; n < 400; n += testscale.Count(1, 7) {
			v := record{strings.Repeat(char, n), n}
			direct.Log(t.Context(), slog.LevelInfo, &v)
			got := only(t, tr)
			general.Info("m", "text", v.Text, "n", n)
			want := only(t, tr)
			for _, field := range []string{"text", "n", "truncated", "attributes"} {
				require.Equal(t, want.fields[field], got.fields[field], "%d times %q", n, char)
			}
			if want.fields["truncated"] == "0" {
				whole++
			} else {
				require.Equal(t, "1", got.fields["truncated"], "%d times %q", n, char)
				cut++
			}
		}
	}
	assert.Positive(t, whole)
	assert.Positive(t, cut)
	n := h.Stats()["app_m"]
	assert.EqualValues(t, whole+cut, n.Written/2)
	assert.EqualValues(t, cut, n.Truncated/2)
}

// TestLoggerCopy: the event of the level has a field of each type as an attribute of the same value.
func TestLoggerCopy(t *testing.T) {
	type record struct {
		Yes  bool    `uevent:"yes"`
		No   bool    `uevent:"no"`
		Text string  `uevent:"text"`
		I    int8    `uevent:"i"`
		U    uint64  `uevent:"u"`
		F    float64 `uevent:"f"`
	}
	d := sloghandler.Declare[record]("m", nil)
	h, tr := attached(t, declaring(d))
	d.Logger(h).Log(t.Context(), slog.LevelInfo, &record{true, false, "a", -3, 1 << 63, 0.5})
	var texts []string
	for _, raw := range tr.Records() {
		r := decoded(t, raw)
		texts = append(texts, r.event+" "+r.fields["duplicate"]+r.json)
	}
	assert.Equal(t, []string{"app_m {}", `app_info 1{"yes":true,"no":false,"text":"a","i":-3,"u":9223372036854775808,"f":0.5}`}, texts)
	assert.True(t, h.Stats()["app_m"].Matched)
}

// TestDropped: values that are dropped since there are too many lists in an attribute count in each record, also if the attribute
// was bound.
func TestDropped(t *testing.T) {
	type record struct {
		N int `uevent:"n"`
	}
	lists := make([]any, 1002) // and the one around them
	for i := range lists {
		lists[i] = []any{}
	}
	d := sloghandler.Declare[record]("m", nil)
	h, tr := attached(t, declaring(d))
	bound := h.WithAttrs([]slog.Attr{slog.Any("a", lists)}).(*sloghandler.Handler)
	d.Logger(bound).Log(t.Context(), slog.LevelInfo, &record{1})
	slog.New(bound).Info("m", "n", 1)
	slog.New(bound).Info("other", "n", 1)
	slog.New(bound).Info("m", slog.Group("g", "n", 1))
	slog.New(h).Info("other", "a", lists)
	slog.New(h).Info("m", "a", lists)
	for i, raw := range tr.Records() {
		r := decoded(t, raw)
		assert.Equal(t, "3", r.fields["truncated"], "record %d, %s", i, r.event)
	}
}
