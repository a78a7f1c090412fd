package otlp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// transformer turns the SDK's data into OTLP, by the code of OpenTelemetry's own exporter, which
// is not public except through a request that it sends. The request is caught before it leaves the
// process.
type transformer struct{ exporter *otlpmetrichttp.Exporter }

// newTransformer returns a transformer. The exporter inside reads OpenTelemetry's environment
// variables for its network; every option that could matter is set here and wins over these.
func newTransformer() (*transformer, error) {
	exporter, err := otlpmetrichttp.New(context.Background(),
		otlpmetrichttp.WithEndpointURL("https://user-events.invalid/v1/metrics"), // "https", since http excludes certificates, which the environment may name
		otlpmetrichttp.WithHTTPClient(&http.Client{Transport: interceptor{}}),
		otlpmetrichttp.WithHeaders(nil),
		otlpmetrichttp.WithCompression(otlpmetrichttp.NoCompression),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{Enabled: false}),
		otlpmetrichttp.WithMaxRequestSize(-1),
	)
	if err != nil {
		return nil, fmt.Errorf("OTLP transformation: %w", err)
	}
	return &transformer{exporter}, nil
}

// transform returns what OTLP says of rm. With an error comes what could be transformed.
func (t *transformer) transform(ctx context.Context, rm *metricdata.ResourceMetrics) ([]*metricspb.ResourceMetrics, error) {
	// A deadline is for the events: a transformation that stops half-way is of no use.
	ctx = context.WithoutCancel(ctx)
	list, err := t.request(ctx, rm)
	if list == nil && err != nil {
		return t.each(ctx, rm)
	}
	return list, err
}

// each transforms one metric after the other: a text that is not UTF-8, which OTLP cannot hold,
// spoils the request that it is in.
func (t *transformer) each(ctx context.Context, rm *metricdata.ResourceMetrics) ([]*metricspb.ResourceMetrics, error) {
	var all *metricspb.ResourceMetrics
	var first error
	failed, metrics := 0, 0
	for _, sm := range rm.ScopeMetrics {
		metrics += len(sm.Metrics)
		for i := range sm.Metrics {
			one := metricdata.ScopeMetrics{Scope: sm.Scope, Metrics: sm.Metrics[i : i+1]}
			list, err := t.request(ctx, &metricdata.ResourceMetrics{Resource: rm.Resource, ScopeMetrics: []metricdata.ScopeMetrics{one}})
			if err != nil {
				failed++
				if first == nil {
					first = fmt.Errorf("%q: %w", sm.Metrics[i].Name, err)
				}
			}
			switch {
			case len(list) == 0:
			case all == nil:
				all = list[0]
			default:
				all.ScopeMetrics = append(all.ScopeMetrics, list[0].GetScopeMetrics()...)
			}
		}
	}
	err := fmt.Errorf("%d of %d metrics, first %w", failed, metrics, first)
	if all == nil {
		return nil, err
	}
	return []*metricspb.ResourceMetrics{all}, err
}

// request returns what is in the request that the exporter makes of rm, nil if it makes none.
func (t *transformer) request(ctx context.Context, rm *metricdata.ResourceMetrics) ([]*metricspb.ResourceMetrics, error) {
	c := &caught{}
	err := t.exporter.Export(context.WithValue(ctx, caughtKey{}, c), rm)
	var request collectorpb.ExportMetricsServiceRequest
	if problem := proto.Unmarshal(c.body, &request); problem != nil {
		return nil, errors.Join(err, problem)
	}
	return request.GetResourceMetrics(), err
}

// caught is where the body of a request goes. It travels with the request's context, so that
// exports may run at the same time.
type caught struct{ body []byte }

type caughtKey struct{}

// interceptor is a transport that keeps the request and answers it.
type interceptor struct{}

var errForeignRequest = errors.New("a request that this exporter did not make")

func (interceptor) RoundTrip(r *http.Request) (*http.Response, error) {
	defer func() { _ = r.Body.Close() }()
	c, ok := r.Context().Value(caughtKey{}).(*caught)
	if !ok {
		return nil, errForeignRequest
	}
	var err error
	if c.body, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}
