//go:build go1.26

// Command webserver is a web service that logs JSON at level info, as services do, and whose records of all levels are also
// tracepoints.
//
//	go run ./examples/webserver
//
// It requests its own page twice a second. While it runs, its debug records can be watched from another terminal:
//
//	sudo uevents watch webserver --level debug
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/userevents/userevents-go/examples/webserver/users"
	"github.com/userevents/userevents-go/sloghandler"
)

func main() {
	address := flag.String("listen", "localhost:8080", "the `address` to serve at")
	duration := flag.Duration("for", 10*time.Minute, "how long to serve")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *duration)
	defer cancel()

	events, err := sloghandler.New("webserver", nil)
	if err != nil {
		log.Print(err) // not supported or permission denied: the handler works, and is never enabled
	}
	defer events.Close()
	slog.SetDefault(slog.New(slog.NewMultiHandler(slog.NewJSONHandler(os.Stderr, nil), events)))

	if err := serve(ctx, *address, 500*time.Millisecond); err != nil {
		slog.Error("the service ends", "err", err) // package log would write it at level info, now that slog is set up
		os.Exit(1)
	}
}

// serve serves users, and requests one of them in an interval, until ctx is done.
func serve(ctx context.Context, address string, interval time.Duration) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	var store users.Store
	server := &http.Server{Handler: store.Handler(), ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			err := server.Close()
			if s := <-served; !errors.Is(s, http.ErrServerClosed) {
				err = errors.Join(err, s)
			}
			return err
		case err := <-served:
			return err
		case <-tick.C:
			if err := get(ctx, fmt.Sprintf("http://%s/users/%d", listener.Addr(), 1+n%4)); err != nil && ctx.Err() == nil {
				slog.Warn("request failed", "err", err)
			}
		}
	}
}

func get(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}
