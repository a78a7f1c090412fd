// Command slogmulti routes records with github.com/samber/slog-multi: text for people,
// tracepoints for tracing tools.
//
//	go run ./examples/slogmulti
//
// It logs twice a second. While it runs, its debug records can be watched from another terminal:
//
//	sudo uevents watch slogmulti --level debug
package main

import (
	"context"
	"flag"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"time"

	slogmulti "github.com/samber/slog-multi"

	"github.com/userevents/userevents-go/sloghandler"
)

func main() {
	duration := flag.Duration("for", time.Minute, "how long to log")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *duration)
	defer cancel()
	events, err := sloghandler.New("slogmulti", nil)
	if err != nil {
		log.Print(err) // the program goes on; its events are never enabled
	}
	defer events.Close()
	run(ctx, newLogger(os.Stdout, events), 500*time.Millisecond)
}

// newLogger returns a logger whose records go to text, and to events while a tracing tool is attached.
// Fanout asks each handler's Enabled, so that nothing is encoded for events otherwise.
func newLogger(text io.Writer, events *sloghandler.Handler) *slog.Logger {
	return slog.New(slogmulti.Fanout(slog.NewTextHandler(text, nil), events))
}

// run serves a request at once, and one after each interval until ctx is done.
func run(ctx context.Context, logger *slog.Logger, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for n := 1; ; n++ {
		serve(logger, n)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func serve(logger *slog.Logger, request int) {
	logger = logger.With("request", request)
	logger.Debug("for the tracing tool only")
	logger.WithGroup("user").Info("served", "id", 7)
}
