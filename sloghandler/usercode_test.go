package sloghandler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// Types whose methods run a function while a record is built.
type (
	actingValuer    struct{ act func() }
	actingError     struct{ act func() }
	actingMarshaler struct{ act func() }
	actingText      struct{ act func() }
	actingKey       struct{ acts *actingText }
	actingLevel     struct{ act func() }
)

func (v actingValuer) LogValue() slog.Value            { v.act(); return slog.StringValue("v") }
func (e actingError) Error() string                    { e.act(); return "v" }
func (m actingMarshaler) MarshalJSON() ([]byte, error) { m.act(); return []byte(`"v"`), nil }
func (m actingText) MarshalText() ([]byte, error)      { m.act(); return []byte("v"), nil }
func (k actingKey) MarshalText() ([]byte, error)       { return k.acts.MarshalText() }
func (l actingLevel) Level() slog.Level                { l.act(); return slog.LevelDebug }

// userCode is where the handler calls code of the program. An option or a value takes the function that this code runs.
var userCode = map[string]struct {
	option func(o *sloghandler.Options, act func())
	value  func(act func()) any // of the attribute k
}{
	"LogValuer":      {value: func(act func()) any { return actingValuer{act} }},
	"LogValuer deep": {value: func(act func()) any { return slog.GroupValue(slog.Any("g", actingValuer{act})) }},
	"error":          {value: func(act func()) any { return actingError{act} }},
	"Marshaler":      {value: func(act func()) any { return actingMarshaler{act} }},
	"Marshaler deep": {value: func(act func()) any { return []any{1, actingMarshaler{act}} }},
	"TextMarshaler":  {value: func(act func()) any { return actingText{act} }},
	"key of a map":   {value: func(act func()) any { return map[actingKey]int{{&actingText{act}}: 1} }},
	"Level":          {option: func(o *sloghandler.Options, act func()) { o.Level = actingLevel{act} }},
	"ReplaceAttr": {option: func(o *sloghandler.Options, act func()) {
		o.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr { act(); return a }
	}},
	"AttrFromContext": {option: func(o *sloghandler.Options, act func()) {
		o.AttrFromContext = []func(context.Context) []slog.Attr{func(context.Context) []slog.Attr { act(); return nil }}
	}},
	"TraceContext": {option: func(o *sloghandler.Options, act func()) {
		o.TraceContext = func(context.Context) (a [16]byte, b [8]byte) { act(); return a, b }
	}},
}

// deep grows the stack, which moves it.
func deep(n int) int {
	var frame [256]byte
	if n == 0 {
		return len(frame)
	}
	frame[n%256] = 1
	return deep(n-1) + int(frame[0])
}

// acts is what the code of the program does. Each of them is told whether the record that it interrupted is written.
var acts = map[string]struct {
	run  func(u *usage)
	ends bool // the record is not written
}{
	"logs":                              {run: func(u *usage) { slog.New(u.h).Info("inner", "n", 2) }},
	"logs with values of its own":       {run: func(u *usage) { slog.New(u.h).With("w", 1).WithGroup("g").Info("inner", "n", 2) }},
	"logs more than fits":               {run: func(u *usage) { slog.New(u.h).Info("inner", "n", strings.Repeat("x", 1<<20)) }},
	"collects garbage, grows the stack": {run: func(*usage) { runtime.GC(); deep(2000); runtime.GC() }},
	"panics":                            {run: func(*usage) { panic("no") }},
	"panics with nil":                   {run: func(*usage) { panic(nil) }},
	"ends its goroutine":                {run: func(*usage) { runtime.Goexit() }, ends: true},
	"detaches the tool":                 {run: func(u *usage) { u.tool.Detach() }, ends: true},
	"closes the handler":                {run: func(u *usage) { assert.NoError(u.t, u.h.Close()) }, ends: true},
	"closes the provider":               {run: func(u *usage) { assert.NoError(u.t, u.p.Close()) }, ends: true},
	"blocks": {run: func(u *usage) {
		// Other goroutines log, and another handler closes.
		other, err := sloghandler.New("other", &sloghandler.Options{Provider: u.p})
		assert.NoError(u.t, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 20 {
				slog.New(u.h).Info("inner", "n", 2)
			}
			assert.NoError(u.t, other.Close())
		}()
		<-done
	}},
}

// usage is a handler with a tool attached, whose user code acts once.
type usage struct {
	t    *testing.T
	k    *ueventstest.Kernel
	p    *uevents.Provider
	h    *sloghandler.Handler
	tool *ueventstest.Tool
}

func use(t *testing.T, o sloghandler.Options) *usage {
	u := &usage{t: t, k: ueventstest.New(t, nil)}
	u.p = u.k.Provider()
	o.Provider = u.p
	var err error
	u.h, err = sloghandler.New("app", &o)
	require.NoError(t, err)
	u.tool = attach(t, u.k, "app_*")
	t.Cleanup(func() {
		require.NoError(t, u.h.Close())
		require.NoError(t, u.p.Close())
	})
	return u
}

// TestUserCode: whatever the code of a program does while its record is built, no call hangs or panics, other records
// are whole, the record that it interrupted is whole unless its handler or the tool is gone, and the handler works on.
func TestUserCode(t *testing.T) {
	testscale.HostOnly(t)
	type request struct {
		K string `uevent:"k"`
	}
	for site, code := range userCode {
		for doing, act := range acts {
			for _, bound := range []bool{false, true} {
				if bound && code.value == nil {
					continue
				}
				t.Run(fmt.Sprint(site, "/", doing, "/", map[bool]string{false: "in the call", true: "bound"}[bound]), func(t *testing.T) {
					var u *usage
					var acted atomic.Bool
					run := func() {
						if u != nil && !acted.Swap(true) {
							act.run(u)
						}
					}
					o := sloghandler.Options{Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[request]("declared", nil)}}
					if code.option != nil {
						code.option(&o, run)
					}
					u = use(t, o)
					u.logOuter(func(l *slog.Logger) {
						var k any = "v"
						if code.value != nil {
							k = code.value(run)
						}
						if bound {
							l.With("k", k).Info("declared", "after", 1)
						} else {
							l.Info("declared", "k", k, "after", 1)
						}
					})
					require.True(t, acted.Load(), "the code did not run")
					u.check(act.ends, strings.HasPrefix(doing, "panics"))
				})
			}
		}
	}
}

// logOuter logs a record in a goroutine of its own, which may end.
func (u *usage) logOuter(log func(*slog.Logger)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		log(slog.New(u.h))
	}()
	select {
	case <-done:
	case <-time.After(testscale.Patience): //nolint:forbidigo // the guard
		buf := make([]byte, 1<<16)
		panic("the call does not return:\n" + string(buf[:runtime.Stack(buf, true)]))
	}
}

func (u *usage) check(ends, panics bool) {
	t := u.t
	outer := 0
	for _, raw := range u.tool.Records() {
		assert.LessOrEqual(t, len(raw.Payload), tracepoint.MaxPayload)
		if raw.Event == "app_declared" {
			continue
		}
		l := readRecord(t, raw)
		if l.message == "inner" {
			assert.NotEmpty(t, l.attributes)
			continue
		}
		outer++
		assert.Equal(t, "declared", l.message)
		values := map[string]any{}
		for _, m := range l.attributes {
			values[m.key] = m.value
		}
		assert.Equal(t, json.Number("1"), values["after"], l.attributes)
		assert.True(t, panics || strings.Contains(fmt.Sprint(values["k"]), "v"), l.attributes)
	}
	if !ends {
		assert.Equal(t, 1, outer, "the interrupted record")
	}
	u.tool.Detach()

	// The handler works on, unless it was closed. Many goroutines at once would show a buffer that two of them have.
	tool, err := u.k.Attach(ueventstest.Ftrace, "app_info")
	if err != nil {
		return // the event is gone with its provider
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { slog.New(u.h).Info(fmt.Sprint("next ", i), "n", i) })
	}
	wg.Wait()
	for _, raw := range tool.Records() {
		l := readRecord(t, raw)
		assert.Equal(t, members{{"n", json.Number(strings.TrimPrefix(l.message, "next "))}}, l.attributes)
	}
	if s := u.h.Stats()["app_info"]; s.Written > 0 {
		assert.Zero(t, s.Refused)
	}
	tool.Detach()
}

// Values that change while they are encoded.
type (
	growingError struct{ calls *int }
	shrinking    struct{ list *mutable }
	mutable      struct {
		List []shrinking
		Map  map[string]any
	}
	changingMap struct{ in map[string]any }
)

func (e growingError) Error() string {
	*e.calls++
	return strings.Repeat("longer at each call ", *e.calls*20)
}

func (s shrinking) MarshalJSON() ([]byte, error) {
	s.list.List = s.list.List[:0:0]
	return []byte("1"), nil
}

func (c changingMap) MarshalJSON() ([]byte, error) {
	clear(c.in)
	for i := range 50 {
		c.in[strings.Repeat("k", i+1)] = i
	}
	return []byte("1"), nil
}

// TestValuesThatChange: a value whose length or content is another one at each look gives a record that is whole, at any
// limit, and nothing panics.
func TestValuesThatChange(t *testing.T) {
	values := map[string]func() any{
		"error": func() any { return growingError{new(int)} },
		"list": func() any {
			c := &mutable{}
			c.List = []shrinking{{c}, {c}, {c}}
			return c
		},
		"map": func() any {
			c := &mutable{Map: map[string]any{}}
			c.Map["a"] = changingMap{c.Map}
			c.Map["b"] = 1
			return c
		},
	}
	for _, limit := range []int{0, 512} {
		u := use(t, sloghandler.Options{MaxPayload: limit})
		for name, value := range values {
			v := value()
			bound := slog.New(u.h).With("bound", v)
			for range 12 {
				require.NotPanics(t, func() { bound.Info(name, "k", v, "after", 1) })
				records := u.tool.Records()
				require.Len(t, records, 1)
				assert.LessOrEqual(t, len(records[0].Payload), u.p.MaxPayload())
				l := readRecord(t, records[0])
				assert.Equal(t, name, l.message)
				assert.Contains(t, l.attributes, member{"after", json.Number("1")}, name)
			}
		}
		assert.Zero(t, u.h.Stats()["app_info"].Refused)
	}
}

type levelerPanics struct{}

func (levelerPanics) Level() slog.Level { panic("no level") }

// panicsTwice is a value to panic with whose own method panics, too.
type panicsTwice struct{}

func (panicsTwice) Error() string { panic(panicsTwice{}) }

// TestOptionsPanic: no function of the program can end it by a panic, and none loses a record. slog.JSONHandler lets them through.
func TestOptionsPanic(t *testing.T) {
	replace := func([]string, slog.Attr) slog.Attr { panic("no attribute") }
	log := func(h slog.Handler) { slog.New(h).With("b", 1).WithGroup("g").Info("m", "k", 2) }
	assert.Panics(t, func() { log(slog.NewJSONHandler(io.Discard, &slog.HandlerOptions{ReplaceAttr: replace})) })
	assert.Panics(t, func() { log(slog.NewJSONHandler(io.Discard, &slog.HandlerOptions{Level: levelerPanics{}})) })
	for name, o := range map[string]sloghandler.Options{
		"ReplaceAttr":            {ReplaceAttr: replace, AddSource: true},
		"Level":                  {Level: levelerPanics{}},
		"twice, ReplaceAttr":     {ReplaceAttr: func([]string, slog.Attr) slog.Attr { panic(panicsTwice{}) }, AddSource: true},
		"twice, AttrFromContext": {AttrFromContext: []func(context.Context) []slog.Attr{func(context.Context) []slog.Attr { panic(panicsTwice{}) }}},
		"TraceContext":           {TraceContext: func(context.Context) ([16]byte, [8]byte) { panic("no ids") }},
		"AttrFromContext":        {AttrFromContext: []func(context.Context) []slog.Attr{func(context.Context) []slog.Attr { panic("no attributes") }}},
	} {
		t.Run(name, func(t *testing.T) {
			h, tr := attached(t, o)
			require.NotPanics(t, func() { log(h) })
			records := tr.Records()
			require.Len(t, records, 1)
			list := readRecord(t, records[0]).attributes
			assert.Equal(t, "g", list[len(list)-1].key)
		})
	}
}
