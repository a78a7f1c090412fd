// Command loggers logs through zap, zerolog, slog-multi, logr, otelslog and OpenTelemetry's SDK. Each keeps its output, and its
// records are events, too. Each file shows one logger.
//
//	go run ./examples/loggers
//
// While it runs, the debug records can be watched from another terminal:
//
//	sudo uevents watch 'loggers_*' --level debug
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

func main() {
	duration := flag.Duration("for", time.Minute, "how long to log")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *duration)
	defer cancel()
	p, err := uevents.Open(nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err) // the program goes on; its events are never enabled
	}
	if err := errors.Join(run(ctx, os.Stderr, p, 500*time.Millisecond), p.Close()); err != nil {
		fmt.Fprintln(os.Stderr, "loggers:", err)
		os.Exit(1)
	}
}

// run logs through each logger in an interval until ctx is done. The error of a provider without kernel support has been
// reported, so the errors of its handlers are not.
func run(ctx context.Context, w io.Writer, p *uevents.Provider, interval time.Duration) (err error) {
	options := &sloghandler.Options{Provider: p}
	forZap, _ := sloghandler.New("loggers_zap", options)
	forZerolog, _ := sloghandler.New("loggers_zerolog", options)
	forMulti, _ := sloghandler.New("loggers_slogmulti", options)
	forLogr, _ := sloghandler.New("loggers_logr", options)
	forSDK, _ := sloghandler.New("loggers_sdk", options)
	records, _ := ueventslog.NewLoggerProvider("loggers_otel", ueventslog.WithProvider(p))
	defer func() {
		err = errors.Join(err, forZap.Close(), forZerolog.Close(), forMulti.Close(), forLogr.Close(), forSDK.Close(),
			records.Shutdown(context.WithoutCancel(ctx)))
	}()

	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(zapcore.AddSync(w)), zap.InfoLevel)
	json := slog.NewJSONHandler(w, nil)
	loggers := []*slog.Logger{
		newZap(core, forZap),
		newZerolog(zerolog.New(w).Level(zerolog.InfoLevel), forZerolog),
		newSlogMulti(json, forMulti),
		newOtelslog(json, records),
	}
	withLogr := newLogr(json, forLogr)
	logSDK(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelError}), forSDK)

	tick := time.NewTicker(interval)
	defer tick.Stop()
	for n := 1; ; n++ {
		for _, log := range loggers {
			serve(log, n)
		}
		serveLogr(withLogr, n)
		export(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// serve is the instrumented code: it knows slog, and neither the logger behind it nor events.
func serve(log *slog.Logger, n int) {
	log = log.With("request", n)
	log.Debug("cache miss", "key", "user:41")
	log.Info("request served", "route", "/users/{id}", slog.Group("response", "status", 200, "took", 1500*time.Microsecond))
	log.Error("query failed", "err", errors.New("connection reset"))
}
