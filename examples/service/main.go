// Command service is a small web service with a database, instrumented by OpenTelemetry and
// slog, whose spans and log records are tracepoints.
//
//	go run . -for 1m
//
// While it runs, its spans, its log records and the scheduler can be recorded on one timeline:
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
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/userevents/userevents-go/uevents"
)

func main() {
	duration := flag.Duration("for", time.Minute, "how long to serve")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *duration)
	defer cancel()
	p, err := uevents.Open(nil)
	if err != nil {
		log.Print(err) // the service goes on; its events are never enabled
	}
	err = errors.Join(run(ctx, os.Stdout, p), p.Close())
	if err != nil {
		log.Fatal(err)
	}
}

// run serves on a free port of the loopback interface and asks itself for a user ten times a second. When ctx is done, it
// lets the requests end that were begun, so that their spans end, and then unregisters the events.
func run(ctx context.Context, w io.Writer, p *uevents.Provider) (err error) {
	t, err := newTelemetry("service", p)
	if err != nil {
		log.Print(err)
	}
	defer func() { err = errors.Join(err, t.shutdown(context.WithoutCancel(ctx))) }()
	db, err := openUsers(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: newHandler(t, db), ReadHeaderTimeout: time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Fprintf(w, "serving http://%s/users/1 and asking for it; trace with\n  sudo uevents watch service\nor\n  sudo perf record -a -e 'user_events:service_*' -e sched:sched_switch -- sleep 5\n", listener.Addr())

	client := newClient(t)
	defer client.CloseIdleConnections()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return shutdown(server, served)
		case err := <-served:
			return err
		case <-tick.C:
			if err := ask(ctx, client, fmt.Sprintf("http://%s/users/%d", listener.Addr(), n%4)); err != nil && ctx.Err() == nil {
				return errors.Join(err, shutdown(server, served))
			}
		}
	}
}

// shutdown ends a server after the requests that it has begun.
func shutdown(server *http.Server, served <-chan error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := server.Shutdown(ctx)
	if s := <-served; !errors.Is(s, http.ErrServerClosed) {
		err = errors.Join(err, s)
	}
	return err
}

func ask(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if closeErr := resp.Body.Close(); err == nil {
		err = closeErr
	}
	return err
}
