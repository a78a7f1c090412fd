package sloghandler_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

func TestFields(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{AddSource: true})
	before := time.Now()
	slog.New(h).Info("hello", "n", 1)
	r := one(t, tr)
	assert.Equal(t, "app_info", r.Event())
	ns, _ := r.Lookup("time_unix_nano")
	assert.WithinRange(t, time.Unix(0, int64(ns.Uint64())), before, time.Now())
	assert.Equal(t, "0", field(t, r, "level"))
	assert.Equal(t, "hello", field(t, r, "message"))
	assert.Equal(t, `{"n":1}`, field(t, r, "attributes"))
	assert.Regexp(t, `^.*sloghandler_test\.TestFields /.*handler_test\.go:\d+$`, field(t, r, "source"))
	assert.Equal(t, "0", field(t, r, "truncated"))

	require.NoError(t, h.Handle(t.Context(), slog.NewRecord(time.Time{}, slog.LevelInfo, "", 0)))
	r = one(t, tr)
	assert.Equal(t, "0", field(t, r, "time_unix_nano"), "no time")
	assert.Empty(t, field(t, r, "source"), "no PC")
	assert.Empty(t, field(t, r, "message"))
	assert.Equal(t, "{}", field(t, r, "attributes"))
}

func TestLevels(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{})
	for level, want := range map[slog.Level]string{
		math.MinInt: "app_debug -2147483648", -8: "app_debug -8", -4: "app_debug -4", -1: "app_debug -1", 0: "app_info 0", 2: "app_info 2",
		3: "app_info 3", 4: "app_warn 4", 7: "app_warn 7", 8: "app_error 8", 12: "app_error 12", math.MaxInt: "app_error 2147483647",
	} {
		slog.New(h).Log(t.Context(), level, "m")
		r := one(t, tr)
		assert.Equal(t, want, r.Event()+" "+field(t, r, "level"))
	}
}

func TestMinimumLevel(t *testing.T) {
	var level slog.LevelVar
	h, tr := attached(t, sloghandler.Options{Level: &level})
	assert.False(t, h.Enabled(t.Context(), slog.LevelDebug))
	assert.True(t, h.Enabled(t.Context(), slog.LevelInfo))
	level.Set(slog.LevelError)
	slog.New(h).Warn("no")
	assert.Empty(t, tr.Records())
}

// TestAttachedLevels: a level is enabled if a tool is attached to its event.
func TestAttachedLevels(t *testing.T) {
	h, k := newHandler(t, sloghandler.Options{})
	assert.False(t, h.Enabled(t.Context(), slog.LevelError))
	require.NoError(t, h.Handle(t.Context(), slog.NewRecord(time.Now(), slog.LevelError, "no tool", 0)), "wrappers don't ask")
	tr := attach(t, k, "app_warn")
	assert.True(t, h.Enabled(t.Context(), slog.LevelWarn))
	assert.False(t, h.Enabled(t.Context(), slog.LevelError))
	log := slog.New(h)
	log.Error("not this one")
	log.Warn("this one")
	assert.Equal(t, "this one", field(t, one(t, tr), "message"))
	tr.Detach()
	assert.False(t, h.Enabled(t.Context(), slog.LevelWarn))
	log.Warn("too late")
	assert.Empty(t, tr.Records())
	assert.EqualValues(t, 1, h.Stats()["app_warn"].Written)
}

func TestTextCannotForgeRecords(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{})
	slog.New(h).Info("one\napp_error: level=8\x1b[2J\x00after")
	r := one(t, tr)
	text := r.String()
	assert.NotContains(t, text, "\n")
	assert.NotContains(t, text, "\x1b")
	assert.Contains(t, field(t, r, "message"), "after", "nothing ends at a NUL")
}

func TestOversized(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{})
	log := slog.New(h)
	log.Info(strings.Repeat("é", 5000), "k", "v")
	r := tr.Records()
	require.Len(t, r, 1)
	assert.LessOrEqual(t, len(r[0].Payload), tracepoint.MaxPayload)
	rec := decode(t, r[0].Declaration, r[0].Payload)
	assert.True(t, strings.HasSuffix(field(t, rec, "message"), "é..."), "cut between characters, visibly")
	assert.Equal(t, "1", field(t, rec, "truncated"), "the message; it leaves room for the attribute")
	assert.Equal(t, `{"k":"v"}`, field(t, rec, "attributes"))

	var args []any
	for i := range 1000 {
		args = append(args, fmt.Sprintf("key%d", i), strings.Repeat("v", i%50))
	}
	log.With(args...).Info("m", "last", 1)
	rec = one(t, tr)
	assert.NotEmpty(t, attributes(t, rec), "valid JSON")
	assert.NotEqual(t, "0", field(t, rec, "truncated"))
	assert.Zero(t, tr.Oversized())
	assert.Zero(t, h.Stats()["app_info"].Refused)
}

func TestNewFails(t *testing.T) {
	t.Setenv(uevents.EnvDataFile, t.TempDir()+"/user_events_data")
	h, err := sloghandler.New("app", nil)
	require.Error(t, err)
	assert.True(t, errors.Is(err, fs.ErrNotExist) || errors.Is(err, uevents.ErrNotSupported), "not there, or another system: %v", err)
	slog.New(h).With("a", 1).WithGroup("g").Error("goes nowhere")
	assert.False(t, h.Enabled(t.Context(), slog.LevelError))
	assert.NoError(t, h.Close())

	k, p := recordtest.Kernel(t)
	h, err = sloghandler.New("not a name", &sloghandler.Options{Provider: p})
	require.ErrorIs(t, err, tracepoint.ErrInvalid)
	slog.New(h).Error("goes nowhere")

	_, err = p.Register(tracepoint.Declaration{Name: "taken_warn"}, nil)
	require.NoError(t, err)
	h, err = sloghandler.New("taken", &sloghandler.Options{Provider: p})
	require.ErrorIs(t, err, uevents.ErrConflict)
	tr := recordtest.Attach(t, k, ueventstest.Ftrace, "taken_*")
	slog.New(h).Warn("goes nowhere")
	slog.New(h).Error("works")
	assert.Equal(t, "works", field(t, one(t, tr), "message"))
	require.NoError(t, h.Close())
}

func TestCloseAnyTime(t *testing.T) {
	h, _ := attached(t, sloghandler.Options{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			log := slog.New(h).With("a", 1)
			for range 100 {
				log.Info("m")
				assert.NoError(t, h.Handle(context.Background(), slog.NewRecord(time.Now(), 0, "m", 0)))
			}
		})
	}
	wg.Go(func() { assert.NoError(t, h.Close()) })
	wg.Wait()
	assert.False(t, h.Enabled(t.Context(), slog.LevelInfo))
	assert.NoError(t, h.Close())
}

func TestAllocations(t *testing.T) {
	testscale.CountAllocations(t)
	ctx := t.Context()
	five := func(log *slog.Logger, message string) {
		log.LogAttrs(ctx, slog.LevelInfo, message, slog.String("method", "GET"), slog.Int("status", 200),
			slog.Duration("latency", 1500), slog.Bool("ok", true), slog.Float64("load", 0.25))
	}
	var twenty []slog.Attr
	for i := range 5 {
		n := strconv.Itoa(i)
		twenty = append(twenty, slog.String("text"+n, "value "+n), slog.Int("number"+n, i), slog.Uint64("unsigned"+n, 1<<60), slog.Time("time"+n, time.Unix(int64(i), 1)))
	}
	accepted := slog.New(accepting{})
	slogs := testing.AllocsPerRun(100, func() { accepted.LogAttrs(ctx, slog.LevelInfo, "request", twenty...) })
	for name, o := range map[string]sloghandler.Options{
		"typed":             {},
		"source":            {AddSource: true},
		"declared":          {Declarations: []sloghandler.AnyDeclaration{httpRequest}},
		"the last wins":     {UniqueKeys: true},
		"trace context":     {TraceContext: func(context.Context) (traceID [16]byte, spanID [8]byte) { return [16]byte{1}, [8]byte{2} }},
		"a minimum":         {Level: slog.LevelInfo},
		"with small events": {MaxPayload: 400},
	} {
		k := ueventstest.New(t, nil)
		o.Provider = k.Provider()
		h, err := sloghandler.New("app", &o)
		require.NoError(t, err)
		chain := slog.New(h).With("service", "x").WithGroup("g").With("a", 1, "b", "c").WithGroup("h")
		calls := map[string]func(){
			"five":     func() { five(slog.New(h), "request") },
			"declared": func() { five(slog.New(h), "http request") },
			"chain":    func() { five(chain, "http request") },
			"twenty":   func() { chain.LogAttrs(ctx, slog.LevelInfo, "request", twenty...) },
		}
		for call, f := range calls {
			assert.Zero(t, testing.AllocsPerRun(100, f), "%s, %s: disabled", name, call)
		}
		recordtest.Attach(t, k, ueventstest.Ftrace, "app_*")
		for call, f := range calls {
			if call == "twenty" && o.MaxPayload > 0 {
				continue // the record does not fit: dropping attributes allocates
			}
			want := 0.0
			if call == "twenty" {
				want = slogs // a slog.Record has room for five
			}
			assert.Equal(t, want, testing.AllocsPerRun(100, f), "%s, %s: enabled", name, call)
		}
		require.NoError(t, h.Close())
		require.NoError(t, o.Provider.Close())
	}
}

// TestAllocationsOfWith: a logger of one request takes about as many allocations as with the handlers of slog.
func TestAllocationsOfWith(t *testing.T) {
	testscale.CountAllocations(t)
	err := errors.New("connection refused")
	withError := func(h slog.Handler) float64 {
		log := slog.New(h)
		return testing.AllocsPerRun(100, func() { log.With("err", err) })
	}
	type user struct{ Name string }
	withStruct := func(h slog.Handler) float64 {
		log, u := slog.New(h), &user{"alice"}
		return testing.AllocsPerRun(100, func() { log.With("user", u) })
	}
	request := func(h slog.Handler) float64 {
		log := slog.New(h)
		return testing.AllocsPerRun(100, func() { log.With("request_id", "4bf92f3577b34da6", "user", 42, "path", "/x").Info("done") })
	}
	h, k := newHandler(t, sloghandler.Options{})
	assert.LessOrEqual(t, withError(h), withError(slog.DiscardHandler)+2, "an error bound while disabled")
	assert.LessOrEqual(t, withStruct(h), withStruct(slog.NewJSONHandler(io.Discard, nil)), "a struct bound while disabled")
	assert.LessOrEqual(t, request(h), request(slog.DiscardHandler)+2, "a request while disabled")
	attach(t, k, "app_*")
	assert.LessOrEqual(t, request(h), request(slog.NewJSONHandler(io.Discard, nil)), "a request while enabled")
}

func TestMain(m *testing.M) { leakcheck.Main(m) }
