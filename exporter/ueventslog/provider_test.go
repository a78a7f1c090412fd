package ueventslog_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// tracedOwn returns a provider of this package whose events are all enabled, and the tool that is attached to them.
func tracedOwn(t testing.TB, opts ...ueventslog.ProviderOption) (*ueventslog.LoggerProvider, *ueventstest.Tool) {
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

// TestOptionTypes: what does not apply to a constructor does not compile.
func TestOptionTypes(t *testing.T) {
	assert.NotImplements(t, (*ueventslog.Option)(nil), ueventslog.WithResource(nil))
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
	_, err = k.Attach(ueventstest.Ftrace, "app_*")
	require.NoError(t, err)
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
