package main

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// shop is the instrumented program: it knows OpenTelemetry's API, and nothing of events.
type shop struct {
	orders  metric.Int64Counter
	waiting metric.Int64Gauge
	seconds metric.Float64Histogram
}

func newShop(meter metric.Meter) (*shop, error) {
	orders, ordersErr := meter.Int64Counter("shop.orders", metric.WithUnit("{order}"))
	waiting, waitingErr := meter.Int64Gauge("shop.waiting", metric.WithUnit("{order}"))
	seconds, secondsErr := meter.Float64Histogram("shop.checkout.duration", metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.1))
	return &shop{orders, waiting, seconds}, errors.Join(ordersErr, waitingErr, secondsErr)
}

// order takes the nth order. The attributes of a counter are those that it is added up by.
func (s *shop) order(ctx context.Context, n int) {
	country := []string{"DE", "FR", "JP"}[n%3]
	took := time.Duration(1+n*n%97) * time.Millisecond
	s.orders.Add(ctx, 1, metric.WithAttributes(attribute.String("country", country)))
	s.waiting.Record(ctx, int64(n%5))
	s.seconds.Record(ctx, took.Seconds())
}
