package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/userevents/userevents-go/uevents"
)

// run serves until ctx is done, and logs JSON to w. Then it says that it is not ready, lets the requests end that were begun, so that
// their spans end, exports what is left, and unregisters the events.
func run(ctx context.Context, o options, w io.Writer, p *uevents.Provider) (err error) {
	t, err := newTelemetry(ctx, w, p)
	if err != nil {
		t.log.Warn("telemetry is not complete", "err", err) // the error names what cannot be used; the rest works
	}
	defer t.close(ctx)
	db := openUsers()
	defer func() { err = errors.Join(err, db.Close()) }()
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	var draining atomic.Bool
	server := &http.Server{Handler: withHealth(newHandler(t.log, db), db, &draining), ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.log.Info("serving", "url", "http://"+listener.Addr().String())

	loading, stopLoad := context.WithCancel(ctx)
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		load(loading, t.log, "http://"+listener.Addr().String(), o.load)
	}()
	defer func() { stopLoad(); <-loaded }()

	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	draining.Store(true)
	t.log.Info("shutting down", "drain", o.drain)
	select {
	case err := <-served:
		return err
	case <-time.After(o.drain):
	}
	return shutdown(server, served)
}

// limit is how long ending waits for requests, and for the last export.
var limit = 5 * time.Second

// shutdown ends a server after the requests that it has begun.
func shutdown(server *http.Server, served <-chan error) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := server.Shutdown(ctx)
	if s := <-served; !errors.Is(s, http.ErrServerClosed) {
		err = errors.Join(err, s)
	}
	return err
}

// withHealth adds the endpoints of Kubernetes' probes, which are not spans: the process is alive if it answers, and ready while
// its database answers and it is not shutting down.
func withHealth(next http.Handler, db *sql.DB, draining *atomic.Bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", next)
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case draining.Load():
			http.Error(w, "shutting down", http.StatusServiceUnavailable)
		case db.PingContext(r.Context()) != nil:
			http.Error(w, "no database", http.StatusServiceUnavailable)
		}
	})
	return mux
}
