package autoexport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutlog"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const exporterName = "user_events"

// list returns the names in the value of a variable: separated by commas, without the space around them, each once.
func list(value string) (names []string) {
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// selection is the exporters of a signal. The kind of provider follows from the names, not from the exporters that can be
// made: a misspelt name must not change what the program propagates.
type selection[E any] struct {
	events bool // user_events is among them
	alone  bool // and no other name
	others []E
}

// exporters returns the exporters that a variable names, or else the default of the program or OpenTelemetry. It keeps the errors of those
// that cannot be made. Function contrib makes the exporter that the environment names, if it is a single name; this package makes those of
// lists with function listed.
func exporters[E, O any](
	ctx context.Context, p *providers, variable string,
	contrib func(context.Context, ...O) (E, error), listed func(context.Context, string) (E, error),
) (s selection[E]) {
	var names []string
	for _, value := range []string{os.Getenv(variable), p.exporters, "otlp"} {
		if names = list(value); len(names) > 0 {
			break
		}
	}
	all := strings.Join(names, ",")
	if n := slices.Index(names, "none"); n >= 0 {
		if names = slices.Delete(names, n, n+1); len(names) > 0 {
			p.keep(fmt.Errorf("autoexport: %s=%q: none does not go with other exporters and is ignored", variable, all))
		}
	}
	s.events = slices.Contains(names, exporterName)
	s.alone = s.events && len(names) == 1
	for _, name := range names {
		if name == exporterName {
			continue
		}
		var e E
		var err error
		if cmp.Or(os.Getenv(variable), "otlp") == name {
			if e, err = contrib(ctx); err != nil && strings.HasPrefix(err.Error(), "unknown exporter") {
				err = fmt.Errorf("%w: use user_events, otlp, console, for metrics prometheus, none, or a name that the program registers", err)
			}
		} else {
			e, err = listed(ctx, name)
		}
		if err != nil {
			p.keep(fmt.Errorf("autoexport: %s=%q: exporter %q: %w", variable, all, name, err))
			continue
		}
		s.others = append(s.others, e)
	}
	return s
}

// newSpanExporter makes an exporter of spans as OpenTelemetry's autoexport does for a single name.
func newSpanExporter(ctx context.Context, name string) (sdktrace.SpanExporter, error) {
	switch protocol := otlpProtocol("TRACES"); {
	case name == "otlp" && protocol == "http/protobuf":
		return otlptracehttp.New(ctx)
	case name == "otlp" && protocol == "grpc":
		return otlptracegrpc.New(ctx)
	case name == "console":
		return stdouttrace.New()
	default:
		return nil, notListed(name, protocol)
	}
}

// newLogExporter is newSpanExporter for log records.
func newLogExporter(ctx context.Context, name string) (sdklog.Exporter, error) {
	switch protocol := otlpProtocol("LOGS"); {
	case name == "otlp" && protocol == "http/protobuf":
		return otlploghttp.New(ctx)
	case name == "otlp" && protocol == "grpc":
		return otlploggrpc.New(ctx)
	case name == "console":
		return stdoutlog.New()
	default:
		return nil, notListed(name, protocol)
	}
}

// newMetricReader is newSpanExporter for metrics, each exporter in a reader.
func newMetricReader(ctx context.Context, name string) (sdkmetric.Reader, error) {
	producers, err := metricProducers()
	if err != nil {
		return nil, err
	}
	if name == "prometheus" { // whose metrics the producer prometheus has
		return newPrometheusReader()
	}
	var e sdkmetric.Exporter
	switch protocol := otlpProtocol("METRICS"); {
	case name == "otlp" && protocol == "http/protobuf":
		e, err = otlpmetrichttp.New(ctx)
	case name == "otlp" && protocol == "grpc":
		e, err = otlpmetricgrpc.New(ctx)
	case name == "console":
		e, err = stdoutmetric.New()
	default:
		err = notListed(name, protocol)
	}
	if err != nil {
		return nil, err
	}
	return sdkmetric.NewPeriodicReader(e, producers...), nil
}

func otlpProtocol(signal string) string {
	return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
}

// notListed returns the error of a name, or of the protocol of OTLP, that this package does not know.
func notListed(name, protocol string) error {
	if name == "otlp" {
		return fmt.Errorf("invalid OTLP protocol %q: use http/protobuf or grpc", protocol)
	}
	return errors.New("unknown exporter: a list can have user_events, otlp, console and, for metrics, prometheus. " +
		"An exporter that the program registers with OpenTelemetry's autoexport must be the variable's whole value")
}

func metricProducers() (opts []sdkmetric.PeriodicReaderOption, err error) {
	const variable = "OTEL_METRICS_PRODUCERS"
	for _, name := range list(os.Getenv(variable)) {
		switch name {
		case "prometheus":
			opts = append(opts, sdkmetric.WithProducer(bridge.NewMetricProducer()))
		case "none":
		default:
			return nil, fmt.Errorf("%s: unknown producer %q: in a list of exporters it can be prometheus or none", variable, name)
		}
	}
	return opts, nil
}

// prometheusReader is a reader for which an HTTP server answers Prometheus.
type prometheusReader struct {
	sdkmetric.Reader
	server *http.Server
}

func newPrometheusReader() (sdkmetric.Reader, error) {
	address := cmp.Or(os.Getenv("OTEL_EXPORTER_PROMETHEUS_HOST"), "localhost") + ":" + cmp.Or(os.Getenv("OTEL_EXPORTER_PROMETHEUS_PORT"), "9464")
	registry := prometheus.NewRegistry()
	reader, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, errors.Join(err, reader.Shutdown(context.Background()))
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}))
	server := &http.Server{Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			otel.Handle(fmt.Errorf("autoexport: the server for Prometheus: %w", err))
		}
	}()
	return prometheusReader{reader, server}, nil
}

// Shutdown also ends the server.
func (r prometheusReader) Shutdown(ctx context.Context) error {
	return errors.Join(r.Reader.Shutdown(ctx), r.server.Shutdown(ctx))
}

// maxQueueSize bounds the queues of the SDK's batch processors, which allocate them when they are made.
const maxQueueSize = 1 << 20

// spanBatchOptions returns options for the SDK's batch processor of spans in place of variables that it does not check: it
// panics if a size is negative or too large, and is busy all the time if the delay is not positive.
func (p *providers) spanBatchOptions() []sdktrace.BatchSpanProcessorOption {
	queue := p.positive("OTEL_BSP_MAX_QUEUE_SIZE", sdktrace.DefaultMaxQueueSize, maxQueueSize)
	batch := p.positive("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", sdktrace.DefaultMaxExportBatchSize, maxQueueSize)
	delay := p.positive("OTEL_BSP_SCHEDULE_DELAY", sdktrace.DefaultScheduleDelay, math.MaxInt64/int64(time.Millisecond))
	if batch > queue {
		batch = min(sdktrace.DefaultMaxExportBatchSize, queue) // as the SDK has it
	}
	return []sdktrace.BatchSpanProcessorOption{
		sdktrace.WithMaxQueueSize(int(queue)),
		sdktrace.WithMaxExportBatchSize(int(batch)),
		sdktrace.WithBatchTimeout(time.Duration(delay) * time.Millisecond),
	}
}

// logBatchOptions is spanBatchOptions for log records, whose processor checks the other variables itself.
func (p *providers) logBatchOptions() []sdklog.BatchProcessorOption {
	const defaultSize = 2048 // of the specification and the SDK, which keeps its constant to itself
	return []sdklog.BatchProcessorOption{sdklog.WithMaxQueueSize(int(p.positive("OTEL_BLRP_MAX_QUEUE_SIZE", defaultSize, maxQueueSize)))}
}

// positive returns the value of a variable, a number from 1 to most, or else the default, and keeps an error.
func (p *providers) positive(variable string, defaultValue, most int64) int64 {
	text := strings.TrimSpace(os.Getenv(variable))
	if text == "" {
		return defaultValue
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > most {
		p.keep(fmt.Errorf("autoexport: %s=%q is not a number from 1 to %d: the default %d applies", variable, os.Getenv(variable), most, defaultValue))
		return defaultValue
	}
	return n
}
