// Command service is a web service with a database as it runs in production: OpenTelemetry and slog, whose spans, log records
// and metrics go to a backend by OTLP, and are tracepoints while a tool is attached.
//
//	go run ./examples/service
//
// Unless the environment names exporters, its telemetry is events alone. While it runs, its spans, its log records and the
// scheduler can be recorded on one timeline:
//
//	sudo uevents record service -o service.pftrace --sched --duration 5s    # for https://ui.perfetto.dev
//
// or by perf:
//
//	sudo perf record -a -e 'user_events:service_*' -e sched:sched_switch -- sleep 5
//	sudo perf script
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/userevents/userevents-go/uevents"
)

// options are the flags.
type options struct {
	listen string        // the address to serve at
	load   float64       // requests per second to itself; 0: none
	drain  time.Duration // how long to serve after readiness has ended, so that a load balancer notices
}

// maxLoad is above what the service can serve: the interval of a ticker cannot be less than a nanosecond.
const maxLoad = 1e6

// check returns an error for values that the flags cannot have.
func (o options) check() error {
	if !(o.load >= 0 && o.load <= maxLoad) { // not a number is neither
		return fmt.Errorf("-load %v: not from 0 to %d requests per second", o.load, int(maxLoad))
	}
	if o.drain < 0 {
		return fmt.Errorf("-drain %v: negative", o.drain)
	}
	return nil
}

func main() {
	var o options
	flag.StringVar(&o.listen, "listen", "localhost:8080", "the `address` to serve at")
	flag.Float64Var(&o.load, "load", 10, "`requests` per second that the service makes to itself, for a demonstration")
	flag.DurationVar(&o.drain, "drain", 0, "how long to serve after SIGTERM, while /readyz fails")
	duration := flag.Duration("for", 0, "how long to serve; until SIGTERM or an interrupt if 0")
	flag.Parse()
	if err := o.check(); err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the service at once
	if *duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *duration)
		defer cancel()
	}
	p, _ := uevents.Open(nil) // on an error the service goes on, without events, and its handlers return the error again
	if err := errors.Join(run(ctx, o, os.Stderr, p), p.Close()); err != nil {
		log.Fatal(err)
	}
}
