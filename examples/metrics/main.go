// Command metrics measures with OpenTelemetry's SDK: a counter, a gauge and a histogram, whose data points are events.
//
//	go run ./examples/metrics
//
// While it runs, the data points can be watched from another terminal, and the kernel can add them up:
//
//	sudo uevents watch 'metrics_metric_*'
//	sudo uevents hist metrics_metric_sum --by attributes --sum value_int --where 'name == shop.orders'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/uevents"
)

func main() {
	interval := flag.Duration("interval", time.Second, "how often data points are exported")
	duration := flag.Duration("for", time.Minute, "how long to measure")
	flag.Parse()
	if *interval <= 0 {
		fmt.Fprintf(os.Stderr, "metrics: -interval %v: not positive\n", *interval) // the SDK would take its default, a minute
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *duration)
	defer cancel()
	if err := run(ctx, nil, *interval); err != nil {
		fmt.Fprintln(os.Stderr, "metrics:", err)
		os.Exit(1)
	}
}

// run takes an order every 50 ms until ctx is done, and then exports the data points that are left. A nil event provider stands
// for the machine's kernel.
func run(ctx context.Context, p *uevents.Provider, interval time.Duration) (err error) {
	exporter, err := ueventsmetric.NewExporter("metrics", ueventsmetric.WithProvider(p))
	if err != nil {
		fmt.Fprintln(os.Stderr, err) // not supported or permission denied: the exporter works, and writes nothing
	}
	// A second reader, such as one with an OTLP exporter, gets the same measurements.
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithInterval(interval))))
	defer func() { err = errors.Join(err, provider.Shutdown(context.WithoutCancel(ctx))) }()
	s, err := newShop(provider.Meter("example.com/shop"))
	if err != nil {
		return err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			s.order(ctx, n)
		}
	}
}
