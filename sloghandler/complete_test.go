package sloghandler_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// forms are the ways to log a declared record.
var forms = map[string]func(*sloghandler.Handler, slog.Level, HTTPRequest){
	"slog": func(h *sloghandler.Handler, level slog.Level, v HTTPRequest) {
		slog.New(h).LogAttrs(context.Background(), level, "http request", requestAttrs(v)...)
	},
	"slog, in a group": func(h *sloghandler.Handler, level slog.Level, v HTTPRequest) {
		a := requestAttrs(v)
		slog.New(h).LogAttrs(context.Background(), level, "http request", a[0], slog.GroupAttrs("deep", a[1:]...))
	},
	"slog, a LogValuer": func(h *sloghandler.Handler, level slog.Level, v HTTPRequest) {
		a := requestAttrs(v)
		slog.New(h).Log(context.Background(), level, "http request", "method", valuer{a[0].Value}, a[1], a[2], a[3])
	},
	"slog, bound": func(h *sloghandler.Handler, level slog.Level, v HTTPRequest) {
		a := requestAttrs(v)
		slog.New(h.WithAttrs(a[:2])).LogAttrs(context.Background(), level, "http request", a[2:]...)
	},
	"slog, bound in a group": func(h *sloghandler.Handler, level slog.Level, v HTTPRequest) {
		a := requestAttrs(v)
		slog.New(h.WithGroup("http").WithAttrs(a[:2])).LogAttrs(context.Background(), level, "http request", a[2:]...)
	},
	"Log": func(h *sloghandler.Handler, level slog.Level, v HTTPRequest) {
		httpRequest.Logger(h).Log(context.Background(), level, &v)
	},
	"Log, in a group": func(h *sloghandler.Handler, level slog.Level, v HTTPRequest) {
		httpRequest.Logger(h.WithGroup("http").(*sloghandler.Handler)).Log(context.Background(), level, &v)
	},
	"LogAttrs": func(h *sloghandler.Handler, level slog.Level, v HTTPRequest) {
		httpRequest.Logger(h).LogAttrs(context.Background(), level, requestAttrs(v)...)
	},
	"LogAttrs, in a group": func(h *sloghandler.Handler, level slog.Level, v HTTPRequest) {
		httpRequest.Logger(h.WithGroup("http").(*sloghandler.Handler)).LogAttrs(context.Background(), level, requestAttrs(v)...)
	},
}

func requestAttrs(v HTTPRequest) []slog.Attr {
	return []slog.Attr{
		slog.String("method", v.Method), slog.String("route", v.Route), slog.Int("status", int(v.Status)), slog.Duration("latency_ns", v.Latency),
	}
}

// paths are options with which records take different paths through the handler.
var paths = map[string]sloghandler.Options{
	"direct":           {},
	"the last is kept": {UniqueKeys: true},
	"replaced":         {ReplaceAttr: unchanged},
	"from the context": {AttrFromContext: []func(context.Context) []slog.Attr{func(context.Context) []slog.Attr { return nil }}},
}

// eachForm runs a test for each path and form, with a handler that has attributes too, and a new kernel.
func eachForm(t *testing.T, d sloghandler.AnyDeclaration, test func(*testing.T, *ueventstest.Kernel, *sloghandler.Handler, func(*sloghandler.Handler, slog.Level, HTTPRequest))) {
	for path, o := range paths {
		for form, log := range forms {
			t.Run(path+"/"+form, func(t *testing.T) {
				o.Declarations = []sloghandler.AnyDeclaration{d}
				h, k := newHandler(t, o)
				test(t, k, h.WithAttrs([]slog.Attr{slog.String("service", "shop")}).(*sloghandler.Handler), log)
			})
		}
	}
}

var sampleRequest = HTTPRequest{Method: "GET", Route: "/users/{id}", Status: 404, Latency: 1500}

// checkOwn checks the record of the declaration's event.
func checkOwn(t *testing.T, r decodedRecord) {
	t.Helper()
	assert.Equal(t, "app_http_request", r.event)
	assert.Equal(t, "GET /users/{id} 404 1500", fmt.Sprint(r.fields["method"], " ", r.fields["route"], " ", r.fields["status"], " ", r.fields["latency_ns"]))
	assert.Equal(t, `{"service":"shop"}`, r.json)
}

// checkLevel checks the record of the level's event, which has all attributes.
func checkLevel(t *testing.T, r decodedRecord, event, duplicate string) {
	t.Helper()
	assert.Equal(t, event, r.event)
	assert.Equal(t, duplicate, r.fields["duplicate"])
	assert.Equal(t, "http request", r.fields["message"])
	want := map[string]any{"service": "shop", "method": "GET", "route": "/users/{id}", "status": 404.0, "latency_ns": 1500.0}
	assert.Equal(t, want, withoutGroups(r.attributes), r.json)
}

func withoutGroups(attributes map[string]any) map[string]any {
	flat := map[string]any{}
	for key, v := range attributes {
		if group, ok := v.(map[string]any); ok {
			maps.Copy(flat, withoutGroups(group))
			continue
		}
		flat[key] = v
	}
	return flat
}

// TestComplete: each event has all of its records. A declared record is in its own event and in that of its level, as far
// as they are enabled, and the level's says if it is a copy.
func TestComplete(t *testing.T) {
	eachForm(t, httpRequest, func(t *testing.T, k *ueventstest.Kernel, h *sloghandler.Handler, log func(*sloghandler.Handler, slog.Level, HTTPRequest)) {
		log(h, slog.LevelInfo, sampleRequest)
		tr := attach(t, k, "app_info")
		log(h, slog.LevelInfo, sampleRequest)
		log(h, slog.LevelWarn, sampleRequest)
		records := tr.Records()
		require.Len(t, records, 1)
		checkLevel(t, decoded(t, records[0]), "app_info", "0")
		tr.Detach()

		tr = attach(t, k, "app_http_request")
		log(h, slog.LevelInfo, sampleRequest)
		records = tr.Records()
		require.Len(t, records, 1)
		checkOwn(t, decoded(t, records[0]))

		both := recordtest.Attach(t, k, ueventstest.Perf, "app_http_request", "app_info")
		log(h, slog.LevelInfo, sampleRequest)
		records = both.Records()
		require.Len(t, records, 2)
		checkOwn(t, decoded(t, records[0]))
		checkLevel(t, decoded(t, records[1]), "app_info", "1")
		assert.Equal(t, decoded(t, records[0]).fields["time_unix_nano"], decoded(t, records[1]).fields["time_unix_nano"])
		require.Len(t, tr.Records(), 1)

		stats := h.Stats()
		assert.Equal(t, uevents.EventStats{Written: 2}, stats["app_info"])
		assert.Equal(t, uevents.EventStats{Written: 2, Matched: true}, stats["app_http_request"])
	})
}

// TestCompleteAtOtherLevels: at a level that the declaration does not have, the record is the level's only, and no copy.
func TestCompleteAtOtherLevels(t *testing.T) {
	d := sloghandler.Declare[HTTPRequest]("http request", &sloghandler.DeclarationOptions{Levels: []slog.Level{slog.LevelInfo}})
	eachForm(t, d, func(t *testing.T, k *ueventstest.Kernel, h *sloghandler.Handler, log func(*sloghandler.Handler, slog.Level, HTTPRequest)) {
		tr := attach(t, k, "app_*")
		log(h, slog.LevelWarn, sampleRequest)
		records := tr.Records()
		require.Len(t, records, 1)
		checkLevel(t, decoded(t, records[0]), "app_warn", "0")
		log(h, slog.LevelInfo, sampleRequest)
		assert.Len(t, tr.Records(), 2)
	})
}

// TestAttachAnyTime: tools attach and detach while records are logged. Each record that a tool gets is whole.
func TestAttachAnyTime(t *testing.T) {
	for path, o := range paths {
		t.Run(path, func(t *testing.T) {
			o.Declarations = []sloghandler.AnyDeclaration{httpRequest}
			h, k := newHandler(t, o)
			events := []string{"app_info", "app_http_request"}
			var wg sync.WaitGroup
			for _, log := range forms {
				wg.Go(func() {
					for range 100 {
						log(h, slog.LevelInfo, sampleRequest)
					}
				})
			}
			var records []ueventstest.Record
			for n := range 100 {
				tr := attach(t, k, events[n%len(events)])
				tr.Detach()
				records = append(records, tr.Records()...)
			}
			wg.Wait()
			for _, raw := range records {
				assert.Contains(t, fmt.Sprint(decoded(t, raw)), "/users/{id}")
			}
			for event, s := range h.Stats() {
				assert.Zero(t, s.Refused, event)
			}
		})
	}
}

// detaching is an error whose text detaches a tool while its record is made.
type detaching struct{ tool *ueventstest.Tool }

func (d detaching) Error() string {
	d.tool.Detach()
	return "detached"
}

// TestCopyOfDroppedRecord: a level's copy is no duplicate of a record that the declaration's event did not take. A tool
// that shows duplicates once would not show it at all.
func TestCopyOfDroppedRecord(t *testing.T) {
	type failure struct {
		Err string `uevent:"err"`
	}
	d := sloghandler.Declare[failure]("failure", nil)
	for name, log := range map[string]func(h *sloghandler.Handler, err error){
		"found":  func(h *sloghandler.Handler, err error) { slog.New(h).Info("failure", "err", err) },
		"walked": func(h *sloghandler.Handler, err error) { slog.New(h).Info("failure", slog.Group("g", "err", err)) },
	} {
		t.Run(name, func(t *testing.T) {
			h, k := newHandler(t, declaring(d))
			own, level := attach(t, k, "app_failure"), attach(t, k, "app_info")
			log(h, detaching{own})
			assert.Empty(t, own.Records())
			assert.Equal(t, "0", only(t, level).fields["duplicate"])
		})
	}
}
