// Command service is a small web service with a database, instrumented by OpenTelemetry and
// slog, whose spans and log records are tracepoints.
//
//	go run . -for 1m
//
// While it runs, its spans, its log records and the scheduler can be recorded on one timeline:
//
//	sudo perf record -a -e 'user_events:service_*' -e sched:sched_switch -- sleep 5
//	sudo perf script
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/userevents/userevents-go/uevents"
)

func main() {
	duration := flag.Duration("for", time.Minute, "how long to serve")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *duration)
	defer cancel()
	p, err := uevents.Open(nil)
	if err != nil {
		log.Print(err) // the service goes on; its events are never enabled
	}
	defer p.Close()
	if err := run(ctx, os.Stdout, p); err != nil {
		log.Fatal(err)
	}
}

// run serves on a free port of the loopback interface and asks itself for a user ten times a second.
func run(ctx context.Context, w io.Writer, p *uevents.Provider) error {
	t, err := newTelemetry("service", p)
	if err != nil {
		log.Print(err)
	}
	defer t.close()
	db, err := openUsers(ctx, t)
	if err != nil {
		return err
	}
	defer db.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: newHandler(t, db), ReadHeaderTimeout: time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Fprintf(w, "serving http://%s/users/1 and asking for it; trace with\n  sudo perf record -a -e 'user_events:service_*' -e sched:sched_switch -- sleep 5\n", listener.Addr())

	client := newClient(t)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return server.Close()
		case err := <-served:
			return err
		case <-tick.C:
			if err := ask(ctx, client, fmt.Sprintf("http://%s/users/%d", listener.Addr(), n%4)); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
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
