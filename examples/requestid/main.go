//go:build go1.26

// Command requestid is a web service without OpenTelemetry whose log records have the id of their request, so that the debug records of
// failed requests alone can be watched. The file id.go is what a program of its own needs.
//
//	go run ./examples/requestid
//
// It requests its own page ten times a second, and one request of four fails:
//
//	uevents watch requestid --when 'level >= error' --same request_id
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
	"net/url"
	"os"
	"os/signal"
	"time"

	"github.com/userevents/userevents-go/sloghandler"
)

func main() {
	name := flag.String("name", "requestid", "the `name` of the events")
	address := flag.String("listen", "localhost:8080", "the `address` to serve at")
	next := flag.String("next", "", "the `URL` of another such service, to ask for the items")
	interval := flag.Duration("every", 100*time.Millisecond, "how often to request an item; 0: never")
	duration := flag.Duration("for", 10*time.Minute, "how long to serve")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *duration)
	defer cancel()

	events, err := sloghandler.New(*name, &sloghandler.Options{
		AttrFromContext: []func(context.Context) []slog.Attr{requestAttrs},
	})
	if err != nil {
		log.Print(err) // not supported or permission denied: the handler works, and is never enabled
	}
	defer events.Close()
	slog.SetDefault(slog.New(slog.NewMultiHandler(slog.NewJSONHandler(os.Stderr, nil), events)))

	if err := serve(ctx, *address, *next, *interval); err != nil {
		slog.Error("the service ends", "err", err)
		os.Exit(1)
	}
}

// serve serves items, and requests one of them in an interval, until ctx is done.
func serve(ctx context.Context, address, next string, interval time.Duration) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	here := "http://" + listener.Addr().String()
	server := &http.Server{Handler: withRequestID(items(next)), ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	slog.Info("serving", "url", here)

	var tick <-chan time.Time
	if interval > 0 {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		tick = ticker.C
	}
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
		case <-tick:
			if _, err := get(ctx, fmt.Sprintf("%s/items/%d", here, n%4)); err != nil && ctx.Err() == nil {
				slog.Warn("request failed", "err", err)
			}
		}
	}
}

// items serves GET /items/{id}. It asks the service at the URL next, if there is one. Item 0 fails.
func items(next string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", func(w http.ResponseWriter, r *http.Request) {
		ctx, id, status := r.Context(), r.PathValue("id"), http.StatusOK // the context has the id: slog.Debug would log without it
		slog.DebugContext(ctx, "begin", "item", id)
		switch {
		case next != "":
			var err error
			if status, err = get(ctx, next+"/items/"+url.PathEscape(id)); err != nil {
				slog.ErrorContext(ctx, "no answer", "err", err)
				status = http.StatusBadGateway
			}
		case id == "0":
			slog.ErrorContext(ctx, "query failed", "item", id, "err", "no such item")
			status = http.StatusInternalServerError
		}
		slog.InfoContext(ctx, "request served", "route", r.Pattern, "status", status)
		w.WriteHeader(status)
	})
	return mux
}

// get requests a page, with the request id of the context, and returns its status.
func get(ctx context.Context, page string) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return 0, err
	}
	if id := requestID(ctx); id != "" {
		r.Header.Set(requestIDHeader, id) // the next program takes it
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, errors.Join(err, answer.Body.Close())
}
