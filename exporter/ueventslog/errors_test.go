package ueventslog_test

import (
	"errors"
	"io/fs"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/exporter/internal/testmetrics"
	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// refusing is a kernel that refuses some writes.
type refusing struct {
	backend.Backend
	refuse     atomic.Bool
	refuseNext atomic.Int32 // so many writes
}

func (r *refusing) Write(buf []byte) error {
	if r.refuse.Load() || r.refuseNext.Add(-1) >= 0 {
		return errno.ENOMEM
	}
	return r.Backend.Write(buf)
}

func newRefusing(t *testing.T) (*ueventstest.Kernel, *refusing, *uevents.Provider) {
	k := ueventstest.New(t, nil)
	r := &refusing{Backend: backend.OpenSimulated(k)}
	p := backend.NewProvider(r).(*uevents.Provider)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return k, r, p
}

// handled calls handle with what reaches the error handler, which is OpenTelemetry's and so the whole program's.
func handled(t *testing.T, handle func(error)) {
	before := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(handle))
	t.Cleanup(func() { otel.SetErrorHandler(before) })
}

// TestErrors: an error handler that logs what it gets through the same pipeline hears of the first failure,
// and the log record that it makes fails without a further report.
func TestErrors(t *testing.T) {
	k, r, provider := newRefusing(t)
	p, err := ueventslog.NewProcessor("app", ueventslog.WithProvider(provider))
	require.NoError(t, err)
	e, err := ueventslog.NewExporter("app", ueventslog.WithProvider(provider))
	require.NoError(t, err)
	recordtest.Attach(t, k, ueventstest.Ftrace, "app_*")

	var errs []error
	logger := sdklog.NewLoggerProvider(sdklog.WithProcessor(p)).Logger("x")
	simple := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(e))).Logger("x")
	handled(t, func(err error) {
		errs = append(errs, err)
		logger.Emit(t.Context(), record(log.SeverityError, err.Error()))
		simple.Emit(t.Context(), record(log.SeverityError, err.Error()))
	})
	logger.Emit(t.Context(), record(log.SeverityInfo, "m"))
	assert.Empty(t, errs)
	r.refuse.Store(true)
	for range 100 {
		logger.Emit(t.Context(), record(log.SeverityInfo, "m"))
		simple.Emit(t.Context(), record(log.SeverityInfo, "m"))
	}
	require.Len(t, errs, 2, "one of the processor, one of the exporter")
	for _, err := range errs {
		assert.ErrorIs(t, err, errno.ENOMEM)
		assert.ErrorContains(t, err, "ueventslog")
	}
	assert.Equal(t, uevents.EventStats{Written: 1, Refused: 100}, p.Stats()["app_log_info"])
	assert.Equal(t, uevents.EventStats{Refused: 2}, p.Stats()["app_log_error"])
	assert.Equal(t, uevents.EventStats{Refused: 100}, e.Stats()["app_log_info"])
}

// TestExportGoesOn: a record that the kernel refuses does not keep others from being written.
func TestExportGoesOn(t *testing.T) {
	k, r, provider := newRefusing(t)
	e, err := ueventslog.NewExporter("app", ueventslog.WithProvider(provider))
	require.NoError(t, err)
	recordtest.Attach(t, k, ueventstest.Ftrace, "app_*")
	r.refuse.Store(true)
	err = e.Export(t.Context(), made(t, 3))
	assert.ErrorIs(t, err, errno.ENOMEM)
	assert.ErrorContains(t, err, "3 records were not written")
	assert.Equal(t, uint64(3), e.Stats()["app_log_info"].Refused)
}

// TestUnusable: what New returns works, whatever is wrong, and the error says what.
func TestUnusable(t *testing.T) {
	closed := ueventstest.New(t, nil).Provider()
	require.NoError(t, closed.Close())
	for name, c := range map[string]struct {
		name string
		opts []ueventslog.Option
		is   error
	}{
		"provider closed":           {"app", []ueventslog.Option{ueventslog.WithProvider(closed)}, uevents.ErrClosed},
		"name":                      {"my app", nil, tracepoint.ErrInvalid},
		"empty name, common schema": {"", []ueventslog.Option{ueventslog.WithCommonSchema4()}, tracepoint.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			if c.opts == nil || len(c.opts) == 1 && name != "provider closed" {
				provider := ueventstest.New(t, nil).Provider()
				defer provider.Close()
				c.opts = append(c.opts, ueventslog.WithProvider(provider))
			}
			p, err := ueventslog.NewProcessor(c.name, c.opts...)
			require.ErrorIs(t, err, c.is)
			e, err := ueventslog.NewExporter(c.name, c.opts...)
			require.ErrorIs(t, err, c.is)
			provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(p), sdklog.WithProcessor(sdklog.NewSimpleProcessor(e)))
			own, err := ueventslog.NewLoggerProvider(c.name, c.opts...)
			require.ErrorIs(t, err, c.is)
			own.Logger("x").Emit(t.Context(), record(log.SeverityInfo, "m"))
			assert.NoError(t, own.Shutdown(t.Context()))
			provider.Logger("x").Emit(t.Context(), record(log.SeverityInfo, "m"))
			assert.False(t, p.Enabled(t.Context(), sdklog.EnabledParameters{}))
			assert.NoError(t, provider.Shutdown(t.Context()))
		})
	}
}

// TestOneError: an argument that is wrong is reported once, whether the machine supports user events or not.
func TestOneError(t *testing.T) {
	simulated := ueventstest.New(t, nil).Provider()
	defer simulated.Close()
	unsupported, err := uevents.Open(&uevents.Options{Path: t.TempDir()})
	require.Error(t, err)
	for _, provider := range []*uevents.Provider{simulated, unsupported} {
		for _, encoding := range []ueventslog.Option{nil, ueventslog.WithCommonSchema4()} {
			for message, c := range map[string]struct {
				name string
				opt  ueventslog.Option
			}{
				`use "my_app"`:        {name: "my-app"},
				"the name is empty":   {},
				"negative":            {"app", ueventslog.WithMaxPayload(-1)},
				"needs an event name": {"app", ueventslog.WithDeclarations(ueventslog.Declare[number]("", nil))},
				"unknown Naming 99":   {"app", ueventslog.WithNaming(99)},
			} {
				opts := []ueventslog.Option{ueventslog.WithProvider(provider), ueventslog.WithDeclarations(httpRequest), encoding, c.opt}
				_, err := ueventslog.NewProcessor(c.name, opts...)
				_, ownErr := ueventslog.NewLoggerProvider(c.name, opts...)
				require.EqualError(t, ownErr, err.Error())
				require.ErrorIs(t, err, fs.ErrInvalid)
				require.ErrorContains(t, err, message)
				assert.Less(t, len(err.Error()), 160)
				assert.NotContains(t, err.Error(), "\n")
			}
		}
	}
}

// TestOwnProvider: without WithProvider the machine's kernel is asked, and what was opened is closed.
func TestOwnProvider(t *testing.T) {
	p, err := ueventslog.NewProcessor("app")
	require.NotNil(t, p)
	if err != nil {
		assert.ErrorContains(t, err, `ueventslog "app"`)
		assert.Equal(t, errors.Is(err, uevents.ErrNotSupported), errors.Is(uevents.Probe(nil).Err, uevents.ErrNotSupported))
	}
	assert.NoError(t, p.Shutdown(t.Context()))
}

// TestNilRecord: a record that is nil is ignored, whether a tool is attached or not.
func TestNilRecord(t *testing.T) {
	r, tool := traced(t)
	assert.NotPanics(t, func() { assert.NoError(t, r.OnEmit(t.Context(), nil)) })
	assert.Empty(t, tool.Records())
	tool.Detach()
	assert.NotPanics(t, func() { assert.NoError(t, r.OnEmit(t.Context(), nil)) })
}

// tracedOwn returns a provider of this package whose events are all enabled, and the tool that is attached to them.
func tracedOwn(t testing.TB, opts ...ueventslog.Option) (*ueventslog.LoggerProvider, *ueventstest.Tool) {
	t.Helper()
	r := &rig{kernel: ueventstest.New(t, nil)}
	own := r.newOwn(t, opts...)
	return own, r.attach(t, "app_*")
}

// TestOwnResource: code wins over the environment, which wins over the default.
func TestOwnResource(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "from the environment")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "shard=9")
	defaultName, ok := resource.Default().Set().Value("service.name")
	require.True(t, ok)
	for name, c := range map[string]struct {
		of                   *resource.Resource
		service, description string
	}{
		"code":    {resource.NewSchemaless(attribute.String("service.name", "from code")), "from code", `{"shard":"9"}`},
		"others":  {resource.NewSchemaless(attribute.String("host.name", "node1")), "from the environment", `{"shard":"9","host.name":"node1"}`},
		"nothing": {resource.Empty(), "from the environment", `{"shard":"9"}`},
		"default": {nil, defaultName.AsString(), ""}, // which the SDK makes once
	} {
		t.Run(name, func(t *testing.T) {
			own, tool := tracedOwn(t, ueventslog.WithResource(c.of), ueventslog.WithResourceAttributes("shard", "host.name"))
			own.Logger("x").Emit(t.Context(), record(log.SeverityInfo, "m"))
			got := fields(t, tool)
			assert.Equal(t, c.service, got["service_name"])
			if name != "default" {
				assert.Equal(t, c.description, got["resource"])
			}
		})
	}
}

// TestResourceOfSDK: WithResource has no effect on a processor, whose records have the resource of the SDK's provider.
func TestResourceOfSDK(t *testing.T) {
	rig, tool := traced(t, ueventslog.WithResource(resource.NewSchemaless(attribute.String("service.name", "other"))))
	rig.logger().Emit(t.Context(), log.Record{})
	assert.Equal(t, "shop", fields(t, tool)["service_name"])
}

// TestBadLimits: the error handler gets what is no number, and the default applies.
func TestBadLimits(t *testing.T) {
	t.Setenv(envCount, "many")
	t.Setenv(envLength, "1.5")
	var errs []error
	handled(t, func(err error) { errs = append(errs, err) })
	own, tool := tracedOwn(t)
	require.Len(t, errs, 2)
	assert.EqualError(t, errs[0], `ueventslog: `+envCount+`: the limit is 128: set an integer, or -1 for no limit: strconv.Atoi: parsing "many": invalid syntax`)
	assert.ErrorContains(t, errs[1], envLength+": the limit is -1: ")
	own.Logger("x").Emit(t.Context(), record(log.SeverityInfo, "m", attribute.String("a", "text")))
	assert.Equal(t, `{"a":"text"}`, fields(t, tool)["attributes"])
}

// TestLoggers: a logger is the same each time that it is asked for, and options that are nil are none.
func TestLoggers(t *testing.T) {
	own, tool := tracedOwn(t)
	plain := own.Logger("x")
	assert.Same(t, plain, own.Logger("x"))
	assert.Same(t, plain, own.Logger("x", nil))
	assert.NotSame(t, plain, own.Logger(""))
	versioned := own.Logger("x", nil, log.WithInstrumentationVersion("v2"))
	assert.NotSame(t, plain, versioned)
	assert.Same(t, versioned, own.Logger("x", log.WithInstrumentationVersion("v2")))
	versioned.Emit(nil, record(log.SeverityInfo, "m")) //nolint:staticcheck // a nil context must not panic
	got := fields(t, tool)
	assert.Equal(t, []string{"x", "v2", ""}, []string{got["scope_name"], got["scope_version"], got["trace_id"]})
	assert.True(t, plain.Enabled(nil, log.EnabledParameters{})) //nolint:staticcheck // as above
}

// panicking is an error whose methods panic, if there is text.
type panicking struct{ text string }

func (p *panicking) Error() string  { panic(p.text) }
func (panicking) ErrorType() string { panic("again") }

// TestPanickingErrors: a method that panics does not, since it is not called while no tool is attached.
func TestPanickingErrors(t *testing.T) {
	own, tool := tracedOwn(t)
	for want, err := range map[string]error{
		`{"exception.message":"!PANIC: oh","exception.type":"*ueventslog_test.panicking"}`: &panicking{"oh"},
		`{"exception.message":"<nil>","exception.type":"*ueventslog_test.panicking"}`:      (*panicking)(nil),
	} {
		r := record(log.SeverityError, "m")
		r.SetErr(err)
		assert.NotPanics(t, func() { own.Logger("x").Emit(t.Context(), r) })
		assert.Equal(t, want, fields(t, tool)["attributes"])
	}
}

// TestOwnErrors: the error handler gets the first failure, and may log it through the same provider.
func TestOwnErrors(t *testing.T) {
	k, kernel, borrowed := newRefusing(t)
	own, err := ueventslog.NewLoggerProvider("app", ueventslog.WithProvider(borrowed))
	require.NoError(t, err)
	recordtest.Attach(t, k, ueventstest.Ftrace, "app_*")
	var errs []error
	handled(t, func(err error) {
		errs = append(errs, err)
		own.Logger("handler").Emit(t.Context(), record(log.SeverityError, err.Error()))
	})
	kernel.refuse.Store(true)
	for range 100 {
		own.Logger("x").Emit(t.Context(), record(log.SeverityInfo, "m"))
	}
	require.Len(t, errs, 1)
	assert.ErrorIs(t, errs[0], errno.ENOMEM)
	assert.ErrorContains(t, errs[0], "ueventslog: ")
	assert.Equal(t, uevents.EventStats{Refused: 100}, own.Stats()["app_log_info"])
	assert.Equal(t, uevents.EventStats{Refused: 1}, own.Stats()["app_log_error"])
	assert.NoError(t, own.ForceFlush(t.Context()))
}

// TestLastValueOfAKey: of the values of a key, the last one is at the place of the first, whatever keys are beside it.
func TestLastValueOfAKey(t *testing.T) {
	own, tool := tracedOwn(t)
	for want, attrs := range map[string][]attribute.KeyValue{
		`{"a1c":1,"a2c":2}`:             {attribute.Int("a1c", 1), attribute.Int("a2c", 2)}, // keys that look the same
		`{"a1c":3,"a2c":2}`:             {attribute.Int("a1c", 1), attribute.Int("a2c", 2), attribute.Int("a1c", 3)},
		`{"a":1}`:                       {attribute.Int("a", 1), attribute.Int("", 2)},
		`{"a":{"k":2}}`:                 {attribute.Map("a", attribute.Int("k", 1), attribute.Int("k", 2))},
		`{"a":1,"exception.message":1}`: {attribute.Int("a", 1), attribute.Int("exception.message", 1)},
	} {
		own.Logger("x").Emit(t.Context(), record(log.SeverityInfo, "m", attrs...))
		assert.Equal(t, want, fields(t, tool)["attributes"])
	}
}

// TestMetrics: a log record counts once, also if it is written to two events.
func TestMetrics(t *testing.T) {
	t.Setenv("OTEL_GO_X_OBSERVABILITY", "true")
	read, stop := testmetrics.Observe()
	defer stop()
	rig, tr := traced(t, ueventslog.WithDeclarations(httpRequest))
	rig.logger().Emit(t.Context(), event(log.SeverityInfo, "http.request"))
	rig.logger().Emit(t.Context(), record(log.SeverityInfo, "m"))
	require.Len(t, tr.Records(), 3)
	const metric, component = "otel.sdk.processor.log.processed", "userevents_log_processor/app"
	assert.Equal(t, map[string]int64{component: 2, component + " event_disabled": 0, component + " rejected": 0}, read(metric))
	require.NoError(t, rig.Shutdown(t.Context()))
	assert.Empty(t, read(metric), "nothing is published any more")
}
