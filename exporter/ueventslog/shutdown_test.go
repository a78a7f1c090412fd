package ueventslog_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// newExporter returns an exporter on a kernel in memory, all of its events traced.
func newExporter(t testing.TB, opts ...ueventslog.Option) (*ueventslog.Exporter, *ueventstest.Kernel, *ueventstest.Tool) {
	t.Helper()
	k, provider := recordtest.Kernel(t)
	e, err := ueventslog.NewExporter("app", append(opts, ueventslog.WithProvider(provider))...)
	require.NoError(t, err)
	tr := recordtest.Attach(t, k, ueventstest.Ftrace, "app_*")
	return e, k, tr
}

// made returns records as the SDK makes them.
func made(t testing.TB, n int) []sdklog.Record {
	m := new(memory)
	logger := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(m))).Logger("x")
	for i := range n {
		logger.Emit(t.Context(), record(log.SeverityInfo, "m", attribute.Int("i", i)))
	}
	return m.records
}

func TestExporter(t *testing.T) {
	e, _, tr := newExporter(t)
	require.NoError(t, e.Export(t.Context(), made(t, 3)))
	records := tr.Records()
	assert.Len(t, records, 3)
	assert.NoError(t, e.Export(t.Context(), nil))
	assert.NoError(t, e.ForceFlush(t.Context()))
	assert.Equal(t, uevents.EventStats{Written: 3}, e.Stats()["app_log_info"])
	tr.Detach()
	assert.NoError(t, e.Export(t.Context(), made(t, 3)), "disabled")
}

// TestExporterBehindBatch: nothing of a record is kept, which the batch processor would overwrite.
func TestExporterBehindBatch(t *testing.T) {
	e, _, tr := newExporter(t)
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(e)))
	for i := range 100 {
		provider.Logger("x").Emit(t.Context(), record(log.SeverityInfo, "m", attribute.Int("i", i)))
	}
	require.NoError(t, provider.ForceFlush(t.Context()))
	assert.Len(t, tr.Records(), 100)
	require.NoError(t, provider.Shutdown(t.Context()))
	require.NoError(t, provider.Shutdown(t.Context()))
}

func TestExporterDeadline(t *testing.T) {
	e, _, tr := newExporter(t)
	ctx, cancel := contextDone(t)
	defer cancel()
	assert.ErrorIs(t, e.Export(ctx, made(t, 2)), context.Canceled)
	assert.ErrorIs(t, e.Export(ctx, nil), context.Canceled)
	ctx, cancel = context.WithDeadline(t.Context(), time.Now()) //nolint:forbidigo // a deadline that has passed
	defer cancel()
	err := e.Export(ctx, made(t, 2))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorContains(t, err, "stopped after 0 records")
	assert.Empty(t, tr.Records())
}

// lifecycle is what processor and exporter have in common.
type lifecycle interface {
	Shutdown(context.Context) error
	ForceFlush(context.Context) error
}

func TestShutdown(t *testing.T) {
	records := made(t, 2)
	for name, setup := range map[string]func(t *testing.T) (lifecycle, *ueventstest.Kernel, *ueventstest.Tool){
		"processor": func(t *testing.T) (lifecycle, *ueventstest.Kernel, *ueventstest.Tool) {
			rig, tr := traced(t)
			return rig.Processor, rig.kernel, tr
		},
		"own provider": func(t *testing.T) (lifecycle, *ueventstest.Kernel, *ueventstest.Tool) {
			rig, tr := traced(t)
			require.NoError(t, rig.Shutdown(t.Context()))
			return rig.newOwn(t), rig.kernel, tr
		},
		"exporter": func(t *testing.T) (lifecycle, *ueventstest.Kernel, *ueventstest.Tool) {
			return newExporter(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, k, tr := setup(t)
			ctx, cancel := contextDone(t)
			defer cancel()
			assert.NoError(t, l.Shutdown(ctx), "it never waits")
			assert.NoError(t, l.Shutdown(t.Context()))
			assert.NoError(t, l.ForceFlush(ctx))
			switch l := l.(type) {
			case *ueventslog.Processor:
				assert.False(t, l.Enabled(t.Context(), sdklog.EnabledParameters{}))
				assert.NoError(t, l.OnEmit(t.Context(), &records[0]))
			case *ueventslog.LoggerProvider:
				assert.False(t, l.Logger("x").Enabled(t.Context(), log.EnabledParameters{}))
				l.Logger("x").Emit(t.Context(), record(log.SeverityInfo, "m"))
			case *ueventslog.Exporter:
				assert.Equal(t, sdklog.ErrExporterShutdown, l.Export(t.Context(), records))
				assert.Equal(t, sdklog.ErrExporterShutdown, l.Export(t.Context(), nil))
				assert.Equal(t, sdklog.ErrExporterShutdown, l.Export(ctx, records))
			}
			assert.Empty(t, tr.Records())
			for _, e := range k.Events() {
				assert.Zero(t, e.Words, "%s is still registered", e.Name)
			}
		})
	}
}

// TestProviderClosedFirst: the program closes what it lent before it shuts the pipeline down.
func TestProviderClosedFirst(t *testing.T) {
	rig, tr := traced(t)
	require.NoError(t, rig.borrowed.Close())
	rig.logger().Emit(t.Context(), record(log.SeverityInfo, "m"))
	assert.Empty(t, tr.Records())
	assert.NoError(t, rig.provider.Shutdown(t.Context()))
}

// TestConcurrency: tools attach and detach, and the provider is shut down, while records are made.
func TestConcurrency(t *testing.T) {
	rig := newRig(t, ueventslog.WithDeclarations(httpRequest))
	own := rig.newOwn(t, ueventslog.WithDeclarations(httpRequest))
	stop := make(chan struct{})
	var loggers, tracers sync.WaitGroup
	for range 4 {
		loggers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				for _, logger := range []log.Logger{own.Logger("x"), rig.provider.Logger("x")} {
					logger.Emit(t.Context(), record(log.SeverityInfo, "m", everyKind...))
					logger.Emit(t.Context(), event(log.SeverityError, "http.request", attribute.String("http.request.method", "GET"), attribute.Int("x", 1)))
					logger.Enabled(t.Context(), log.EnabledParameters{})
				}
				_, _ = rig.Stats(), own.Stats()
			}
		})
	}
	tracers.Go(func() {
		for range 30 {
			tr := rig.attach(t, "app_*")
			time.Sleep(time.Millisecond) //nolint:forbidigo // load
			tr.Detach()
			for _, r := range tr.Records() {
				assert.Contains(t, []string{"app_log_info", "app_log_error", "app_log_http_request"}, r.Event)
			}
		}
	})
	tracers.Wait()
	tr := rig.attach(t, "app_*")
	require.NoError(t, rig.provider.Shutdown(t.Context()))
	require.NoError(t, own.Shutdown(t.Context()))
	close(stop)
	loggers.Wait()
	assert.NotPanics(t, tr.Detach)
	for _, stats := range []map[string]uevents.EventStats{rig.Stats(), own.Stats()} {
		assert.NotZero(t, stats["app_log_http_request"].Written)
		assert.Zero(t, stats["app_log_http_request"].Refused)
	}
}

// TestExportConcurrently: the interface does not ask for it, and it is promised.
func TestExportConcurrently(t *testing.T) {
	e, _, tr := newExporter(t)
	records := made(t, 10)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				assert.NoError(t, e.Export(t.Context(), records))
			}
		})
	}
	wg.Wait()
	assert.Len(t, tr.Records(), 400)
	for range 4 {
		wg.Go(func() { assert.NoError(t, e.Shutdown(t.Context())) })
		wg.Go(func() {
			if err := e.Export(t.Context(), records); err != nil {
				assert.ErrorIs(t, err, sdklog.ErrExporterShutdown)
			}
		})
	}
	wg.Wait()
}
