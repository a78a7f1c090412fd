package sloghandler_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestSlogtest runs the suite of package slogtest also with a ReplaceAttr that changes nothing, which takes another path
// through the handler.
func TestSlogtest(t *testing.T) {
	for name, o := range map[string]sloghandler.Options{"plain": {}, "replaced": {ReplaceAttr: unchanged}} {
		t.Run(name, func(t *testing.T) {
			var tr *ueventstest.Tool
			slogtest.Run(t, func(t *testing.T) (h slog.Handler) {
				h, tr = attached(t, o)
				return h
			}, func(t *testing.T) map[string]any { return toMap(t, one(t, tr)) })
		})
	}
}

// loops resolves to itself for ever.
type loops struct{}

func (loops) LogValue() slog.Value { return slog.AnyValue(loops{}) }

// endless resolves to a group that holds itself.
type endless struct{}

func (endless) LogValue() slog.Value { return slog.GroupValue(slog.Any("again", endless{})) }

type valuer struct{ v slog.Value }

func (v valuer) LogValue() slog.Value { return v.v }

// TestGroups has the cases that testing/slogtest lacks.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		name string
		log  func(*slog.Logger)
		want string
	}{
		{"two groups", func(l *slog.Logger) { l.WithGroup("G").WithGroup("H").Info("m", "a", 1) }, `{"G":{"H":{"a":1}}}`},
		{"attributes before", func(l *slog.Logger) { l.With("a", 1).WithGroup("G").Info("m", "b", 2) }, `{"a":1,"G":{"b":2}}`},
		{"attributes between", func(l *slog.Logger) { l.WithGroup("G").With("a", 1).WithGroup("H").With("b", 2).Info("m") }, `{"G":{"a":1,"H":{"b":2}}}`},
		{"an empty group", func(l *slog.Logger) { l.WithGroup("G").Info("m") }, `{}`},
		{"empty ones in a call", func(l *slog.Logger) { l.Info("m", slog.Group("g"), slog.Group("", "x", 1), slog.Attr{}) }, `{"x":1}`},
		{"a group of empty groups", func(l *slog.Logger) { l.Info("m", slog.Group("a", slog.Group("b")), "c", 1) }, `{"c":1}`},
		{"a group that resolves to none", func(l *slog.Logger) { l.Info("m", "g", valuer{slog.GroupValue()}) }, `{}`},
		{"a valuer of a group without a key", func(l *slog.Logger) { l.Info("m", "", valuer{slog.GroupValue(slog.Int("x", 1))}) }, `{"x":1}`},
		{"a group and a number of one name", func(l *slog.Logger) { l.Info("m", "k", 1, slog.Group("k", "x", 1)) }, `{"k":1,"k":{"x":1}}`},
		{"keys twice", func(l *slog.Logger) { l.With("k", 1).Info("m", "k", 2, "k", 3) }, `{"k":1,"k":2,"k":3}`},
		{"above MaxInt64", func(l *slog.Logger) { l.Info("m", "u", uint64(math.MaxUint64)) }, `{"u":18446744073709551615}`},
		{"errors", func(l *slog.Logger) { l.Info("m", "err", error(nil), "e", errors.New("x")) }, `{"err":null,"e":"x"}`},
		{"control characters", func(l *slog.Logger) { l.Info("m", "k", "a\nb\x1b") }, `{"k":"a\nb\u001b"}`},
		{"an empty key", func(l *slog.Logger) { l.Info("m", "", 1) }, `{"":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, tr := attached(t, sloghandler.Options{})
			c.log(slog.New(h))
			assert.Equal(t, c.want, field(t, one(t, tr), "attributes"))
			h, tr = attached(t, sloghandler.Options{ReplaceAttr: unchanged})
			c.log(slog.New(h))
			assert.Equal(t, c.want, field(t, one(t, tr), "attributes"), "with ReplaceAttr")
		})
	}
}

func TestDuplicates(t *testing.T) {
	log := func(h slog.Handler) {
		slog.New(h).With("k", 1, "a", 0).Info("m", "k", 2, slog.Group("g", "x", 1, "x", 2), "k", 3, slog.Group("k", "last", true))
	}
	h, tr := attached(t, sloghandler.Options{UniqueKeys: true})
	log(h)
	assert.Equal(t, `{"a":0,"g":{"x":2},"k":{"last":true}}`, field(t, one(t, tr), "attributes"))
	h, tr = attached(t, sloghandler.Options{})
	log(h)
	assert.Equal(t, `{"k":1,"a":0,"k":2,"g":{"x":1,"x":2},"k":3,"k":{"last":true}}`, only(t, tr).json)
}

// TestLongDuplicates: a text is not cut for the sake of another one that is removed.
func TestLongDuplicates(t *testing.T) {
	text := strings.Repeat("0123456789", 300)
	for name, path := range map[string]sloghandler.Options{
		"direct": {},
		"walked": {ReplaceAttr: unchanged},
	} {
		t.Run(name, func(t *testing.T) {
			path.UniqueKeys = true
			h, tr := attached(t, path)
			long := slog.String("body", strings.Repeat("y", 9000))
			for logged, l := range map[string]func(){
				"both":          func() { slog.New(h).Info("m", long, "body", text) },
				"one bound":     func() { slog.New(h).With(long).Info("m", "body", text) },
				"both bound":    func() { slog.New(h).With(long).With("body", text).Info("m") },
				"another bound": func() { slog.New(h).With(long, "kept", text).Info("m", "body", "short") },
			} {
				l()
				r := only(t, tr)
				assert.Equal(t, "0", r.fields["truncated"], logged)
				assert.Contains(t, slices.Collect(maps.Values(r.attributes)), any(text), logged)
			}
		})
	}
}

func TestReturnsReceiver(t *testing.T) {
	h, _ := attached(t, sloghandler.Options{})
	assert.Same(t, h, h.WithGroup(""))
	assert.Same(t, h, h.WithAttrs(nil))
	assert.Same(t, h, h.WithAttrs([]slog.Attr{}))
}

type panics struct{}

func (panics) LogValue() slog.Value { panic("no") }

type marshalPanics struct{}

func (marshalPanics) MarshalJSON() ([]byte, error) { panic("no JSON") }

// TestHostileValues: whatever is logged, the record is there and its attributes are JSON, whichever path it takes. TestHostile has the
// values.
func TestHostileValues(t *testing.T) {
	testscale.HostOnly(t)
	for name, o := range paths {
		h, tr := attached(t, o)
		for _, c := range hostiles {
			c.message = cmp.Or(c.message, "m")
			if c.attrs == nil {
				c.attrs = func() []slog.Attr { return nil }
			}
			for _, p := range places[:testscale.Count(2, 1)] {
				p.log(h, &c)
				r := only(t, tr)
				if !c.endless { // else there is no room for all of it, nor for what follows
					assert.EqualValues(t, 1, r.attributes["after"], "%s: %s, %s", name, c.name, p.name)
				}
			}
		}
		for event, s := range h.Stats() {
			assert.Zero(t, s.Refused, event)
		}
	}
}

// TestFrozen: what With was given counts as it was then.
func TestFrozen(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{})
	list, m := []string{"a"}, map[string]int{"n": 1}
	attrs := []slog.Attr{slog.Any("list", list), slog.Any("map", m), slog.String("s", "x")}
	derived := h.WithAttrs(attrs)
	list[0], m["n"], attrs[2] = "changed", 2, slog.String("s", "changed")
	slog.New(derived).Info("m")
	r := only(t, tr)
	assert.NotContains(t, r.json, "changed")
	assert.NotContains(t, r.json, "2")
}

// TestSiblings derives handlers from one parent in parallel: none may see another's attributes.
func TestSiblings(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{})
	parent := slog.New(h).With("p", 0).WithGroup("g")
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() { parent.With("n", i).Info(fmt.Sprint(i), "m", i) })
	}
	wg.Wait()
	records := tr.Records()
	require.Len(t, records, 50)
	for _, raw := range records {
		r := decoded(t, raw)
		n := r.fields["message"]
		assert.JSONEq(t, `{"p":0,"g":{"n":`+n+`,"m":`+n+`}}`, r.json)
	}
}

// wholeFloats are floats that JSONHandler writes without a fraction.
var wholeFloats = regexp.MustCompile(`(\d)\.0\b`)

// TestLikeJSONHandler logs random records through slog's own handler and ours, which have
// to agree about attributes. No group loses all its members: slog's handler then forgets to close
// it for ReplaceAttr.
func TestLikeJSONHandler(t *testing.T) {
	replaces := map[string]func([]string, slog.Attr) slog.Attr{
		"none": nil,
		"rename and remove": func(groups []string, a slog.Attr) slog.Attr {
			switch {
			case a.Key == "k0" && len(groups) == 0:
				return slog.Attr{}
			case a.Key == "k1":
				return slog.String("renamed_"+strings.Join(groups, "_"), a.Value.String())
			case a.Key == "k2":
				return slog.Group("made", "x", a.Value)
			}
			return a
		},
	}
	for name, replace := range replaces {
		t.Run(name, func(t *testing.T) {
			h, tr := attached(t, sloghandler.Options{ReplaceAttr: replace})
			for seed := range uint64(500) {
				var out bytes.Buffer
				theirs := slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
					if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
						return slog.Attr{}
					}
					if replace != nil {
						return replace(groups, a)
					}
					return a
				}})
				for _, handler := range []slog.Handler{theirs, h} {
					random := rand.New(rand.NewPCG(seed, 7))
					log := slog.New(handler)
					for range random.IntN(4) {
						if random.IntN(2) == 0 {
							log = log.WithGroup("g" + fmt.Sprint(random.IntN(2)))
						} else {
							log = log.With(randomArgs(random, 2)...)
						}
					}
					log.Info("m", randomArgs(random, 3)...)
				}
				assert.Equal(t, strings.TrimSpace(out.String()), wholeFloats.ReplaceAllString(field(t, one(t, tr), "attributes"), "$1"), "seed %d", seed)
			}
		})
	}
}

// TestReplacedAway: a group without members is left out, whatever made it empty.
func TestReplacedAway(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) > 0 && a.Key == "k" {
			return slog.Attr{}
		}
		return a
	}})
	slog.New(h).WithGroup("g").Info("m", "k", 1)
	assert.Equal(t, `{}`, field(t, one(t, tr), "attributes"))
	slog.New(h).Info("m", slog.Group("g", "k", 1), "k", 2, slog.Group("h", "k", 1, "l", 2))
	assert.Equal(t, `{"k":2,"h":{"l":2}}`, field(t, one(t, tr), "attributes"))
}

func randomArgs(r *rand.Rand, depth int) (args []any) {
	for range r.IntN(4) {
		key := "k" + fmt.Sprint(r.IntN(5))
		switch r.IntN(12) {
		case 0:
			args = append(args, slog.Int(key, r.IntN(100)-50))
		case 1:
			args = append(args, slog.String(key, strings.Repeat("tä\"\n", r.IntN(4))))
		case 2:
			args = append(args, slog.Bool(key, r.IntN(2) == 0))
		case 3:
			args = append(args, slog.Duration(key, time.Duration(r.Int64())))
		case 4:
			args = append(args, slog.Any(key, []int{r.IntN(3)}))
		case 5:
			args = append(args, slog.Any(key, valuer{slog.StringValue("resolved")}))
		case 6:
			args = append(args, slog.Float64(key, float64(r.IntN(1000))/8))
		case 7:
			if depth > 0 {
				args = append(args, slog.Group(key, randomArgs(r, depth-1)...))
			}
		case 8:
			args = append(args, slog.Uint64(key, r.Uint64()))
		case 9:
			args = append(args, slog.Time(key, time.Unix(r.Int64N(1<<32), r.Int64N(1e9)).UTC()))
		case 10:
			args = append(args, slog.Any(key, errors.New([...]string{"", "tä", "\n\"x"}[r.IntN(3)])))
		case 11:
			args = append(args, slog.Any(key, [...]any{nil, map[string]any{"x": 1, "a": nil}, []string{"a", "\x1b"}, slog.LevelWarn, float32(0.5)}[r.IntN(5)]))
		}
	}
	return args
}
