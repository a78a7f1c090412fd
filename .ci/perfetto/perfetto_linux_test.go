// Package perfetto_test checks that Perfetto's recorder reads the texts of all typed events, and that
// Perfetto can draw spans as slices.
// .ci/perfetto/run starts it in a guest.
package perfetto_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/structevent"
	"github.com/userevents/userevents-go/uevents"
)

// TestTexts compares what Perfetto recorded with the same records in a buffer of ftrace:
// every text field must be a string, and the same one.
func TestTexts(t *testing.T) {
	fs := kerneltest.Require(t)
	emit := adapters(t)
	names := slices.Sorted(maps.Keys(typedEvents))
	var events []string
	for _, name := range names {
		events = append(events, "user_events/"+name)
	}
	recorder := record(t, fs, events...)
	witness := kerneltest.NewInstance(t, fs, 256)
	witness.Attach(names...)
	emit()
	got := map[string][]map[string]string{}
	for _, a := range recorder.stop(t).events {
		got[a.event] = append(got[a.event], a.fields)
	}

	want := map[string][]map[string]string{}
	for _, r := range witness.Records() {
		want[r.Event] = append(want[r.Event], textsOf(t, fs, r))
	}
	texts := 0
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			require.NotEmpty(t, want[name], "no record was written")
			known := typedEvents[name]
			require.Equal(t, fmt.Sprintf("%q", known.text), want[name][0][known.field], known.field)
			require.Len(t, got[name], len(want[name]), "records that Perfetto has")
			for i, fields := range want[name] {
				for _, field := range slices.Sorted(maps.Keys(fields)) {
					assert.Equal(t, fields[field], got[name][i][field], "field %s of record %d in Perfetto's trace", field, i)
					texts++
				}
			}
		})
	}
	t.Logf("%d texts of %d events compared", texts, len(names))
}

// textsOf decodes the text fields of a record, as %q.
func textsOf(t *testing.T, fs *tracefs.Dir, r kerneltest.Record) map[string]string {
	t.Helper()
	format, err := fs.Event(r.Event).Format()
	require.NoError(t, err)
	declaration, err := format.Declaration()
	require.NoError(t, err)
	decoder, err := typed.NewDecoder(declaration, nil)
	require.NoError(t, err)
	decoded, err := decoder.Decode(r.Payload)
	require.NoError(t, err)
	texts := map[string]string{}
	for name, v := range decoded.All() {
		if v.Kind() == typed.KindText {
			texts[name] = fmt.Sprintf("%q", v.Text())
		}
	}
	return texts
}

// request is a struct event.
type request struct {
	Route  string `uevent:"route"`
	Status uint16 `uevent:"status"`
}

// typedEvents are the events that a program writes one record or more of, with a text that each
// must have: the fields are what the adapters' documentation says.
var typedEvents = map[string]struct{ field, text string }{
	"perfslog_info":                   {"message", "served by slog"},
	"perfslog_declared":               {"route", "/declared"},
	"perflog_log_warn":                {"body", "disk almost full"},
	"perflog_log_declared":            {"route", "/declared"},
	"perfspan_span_start":             {"name", "GET /outer"},
	"perfspan_span":                   {"name", "GET /outer"},
	"perfspan_span_event":             {"name", "cache miss"},
	"perfspan_span_link":              {"linked_span_id", "0200000000000000"},
	"perfspan_slice":                  {"slice_name", "GET /outer"},
	"perfmetric_metric_gauge":         {"name", "temperature"},
	"perfmetric_metric_sum":           {"temporality", "delta"},
	"perfmetric_metric_histogram":     {"explicit_bounds", "0.1,1"},
	"perfmetric_metric_exp_histogram": {"name", "size"},
	"perfmetric_metric_exemplar":      {"name", "requests"},
	"perfstruct":                      {"route", "/users/{id}"},
}

// adapters are one of each. The function returned writes a record of each of typedEvents.
func adapters(t *testing.T) (emit func()) {
	t.Helper()
	ctx := context.Background()
	res := resource.NewSchemaless(attribute.String("service.name", "shop"))
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}

	handler, err := sloghandler.New("perfslog", &sloghandler.Options{Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[request]("declared", nil)}})
	must(err)
	t.Cleanup(func() { must(handler.Close()) })

	logs, err := ueventslog.NewProcessor("perflog", ueventslog.WithDeclarations(ueventslog.Declare[struct {
		Route string `uevent:"route"`
	}]("declared", nil)))
	must(err)
	logProvider := sdklog.NewLoggerProvider(sdklog.WithProcessor(logs), sdklog.WithResource(res))
	t.Cleanup(func() { must(logProvider.Shutdown(ctx)) })

	spans, err := ueventstrace.NewProcessor("perfspan", ueventstrace.WithPerfettoSlices())
	must(err)
	traceProvider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans), sdktrace.WithResource(res))
	t.Cleanup(func() { must(traceProvider.Shutdown(ctx)) })

	metrics, err := ueventsmetric.NewExporter("perfmetric")
	must(err)
	meterProvider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics)), sdkmetric.WithResource(res),
		sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: "size"},
			sdkmetric.Stream{Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 20, MaxScale: 2}})))
	t.Cleanup(func() { must(meterProvider.Shutdown(ctx)) })

	p, err := uevents.Open(nil)
	must(err)
	t.Cleanup(func() { must(p.Close()) })
	structs, err := structevent.Define[request](p, "perfstruct", nil)
	must(err)

	return func() {
		logger := slog.New(handler)
		logger.Info("served by slog", "status", 200)
		logger.Info("declared", "route", "/declared")

		spanCtx, span := traceProvider.Tracer("my/package").Start(ctx, "GET /outer", trace.WithLinks(trace.Link{
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}}),
		}))
		span.AddEvent("cache miss")

		for _, name := range []string{"", "declared"} {
			var r log.Record
			r.SetSeverity(log.SeverityWarn)
			r.SetEventName(name)
			r.SetBody(attribute.StringValue("disk almost full"))
			r.AddAttributes(attribute.String("route", "/declared"))
			logProvider.Logger("my/package").Emit(spanCtx, r)
		}

		meter := meterProvider.Meter("my/package")
		requests, err := meter.Int64Counter("requests")
		must(err)
		requests.Add(spanCtx, 1)
		temperature, err := meter.Float64Gauge("temperature")
		must(err)
		temperature.Record(ctx, 20.5)
		latency, err := meter.Float64Histogram("latency", metric.WithExplicitBucketBoundaries(0.1, 1))
		must(err)
		latency.Record(ctx, 0.25)
		size, err := meter.Int64Histogram("size")
		must(err)
		size.Record(ctx, 100)
		must(meterProvider.ForceFlush(ctx))

		span.End()
		structs.Emit(&request{Route: "/users/{id}", Status: 200})
	}
}

var folder = flag.String("perfetto", "", "`folder` that Debian's perfetto and its libraries are unpacked in")

// recorder is Perfetto's: a service, a producer that reads ftrace, and the client that
// writes what they record to a file.
type recorder struct {
	client *exec.Cmd
	output *bytes.Buffer
	file   string
}

// record makes Perfetto record events ("user_events/myapp_span") until stop is called. It returns
// when they are enabled.
func record(t *testing.T, fs *tracefs.Dir, events ...string) *recorder {
	t.Helper()
	require.NotEmpty(t, *folder, "start this by .ci/perfetto/run, which says where Perfetto is")
	dir := t.TempDir()
	env := append(os.Environ(),
		"PERFETTO_PRODUCER_SOCK_NAME="+filepath.Join(dir, "producer"),
		"PERFETTO_CONSUMER_SOCK_NAME="+filepath.Join(dir, "consumer"))
	command := func(path string, args ...string) (*exec.Cmd, *bytes.Buffer) {
		libraries := filepath.Join(*folder, "usr/lib/x86_64-linux-gnu") + ":" + filepath.Join(*folder, "usr/lib/perfetto")
		args = append([]string{"--library-path", libraries, filepath.Join(*folder, path)}, args...)
		// The loader of its own C library: the host's may be older.
		cmd := exec.Command(filepath.Join(*folder, "usr/lib64/ld-linux-x86-64.so.2"), args...)
		output := new(bytes.Buffer)
		cmd.Env, cmd.Stdout, cmd.Stderr = env, output, output
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			if cmd.ProcessState == nil {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}
			if t.Failed() {
				t.Logf("%s:\n%s", path, output)
			}
		})
		return cmd, output
	}
	socket := func(name string) {
		testscale.Eventually(t, func() bool {
			_, err := os.Stat(filepath.Join(dir, name))
			return err == nil
		}, "traced opens no socket %s", name)
	}

	command("usr/sbin/traced")
	socket("producer")
	socket("consumer")
	command("usr/sbin/traced_probes")
	config := filepath.Join(dir, "config")
	require.NoError(t, os.WriteFile(config, []byte(configOf(events)), 0o600))
	r := &recorder{file: filepath.Join(dir, "trace")}
	r.client, r.output = command("usr/bin/perfetto", "--txt", "-c", config, "-o", r.file)
	on := func(path string) {
		testscale.Eventually(t, func() bool {
			content, err := os.ReadFile(path)
			return err == nil && content[0] == '1'
		}, "Perfetto does not switch on %s", path)
	}
	for _, event := range events {
		on(fs.Path("events", event, "enable"))
	}
	on(fs.Path("tracing_on"))
	return r
}

func configOf(events []string) string {
	var b strings.Builder
	b.WriteString("buffers { size_kb: 16384 }\ndata_sources { config { name: \"linux.ftrace\" ftrace_config {\n" +
		"buffer_size_kb: 4096\ncompact_sched { enabled: false }\n") // each sched_switch is an event then
	for _, event := range events {
		fmt.Fprintf(&b, "ftrace_events: %q\n", event)
	}
	b.WriteString("} } }\n")
	return b.String()
}

// stop ends the recording and returns the trace.
func (r *recorder) stop(t *testing.T) *recorded {
	t.Helper()
	require.NoError(t, r.client.Process.Signal(os.Interrupt))
	require.NoError(t, r.client.Wait(), r.output.String())
	trace, err := os.ReadFile(r.file)
	require.NoError(t, err)
	return traceOf(t, trace)
}
