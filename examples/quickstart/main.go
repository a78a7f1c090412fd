// Command quickstart logs through slog and shows what a tracing tool prints of it.
//
//	go run ./examples/quickstart
//
// On a kernel with user_events it registers real events, says how to attach to them, and
// tells when a tool does. Elsewhere it writes the same records to the simulated
// kernel in package ueventstest.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/userevents/userevents-go/uevents"
)

func main() {
	duration := flag.Duration("for", time.Minute, "how long to log on a kernel with user_events")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *duration)
	defer cancel()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer) error {
	p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportKernel}) // tools of the kernel are what it shows
	if err != nil {
		fmt.Fprintln(w, "Events cannot be registered here:", err)
		return inProcess(w)
	}
	defer p.Close()
	return live(ctx, w, p)
}

// serve is the instrumented program: it knows slog, and nothing of tracing.
func serve(log *slog.Logger, request int) {
	log = log.With("request", request)
	log.Debug("accepted", "remote", "192.0.2.7")
	log.Info("served", "method", "GET", "route", "/users/{id}", "status", 200, "took", 1500*time.Microsecond)
	if request%3 == 0 {
		log.Error("database gone", "err", "connection reset", slog.Group("retry", "attempt", 2, "max", 5))
	}
}
