// Command quickstart runs a web service whose events nothing watches, attaches the command uevents to it for some records, and ends.
//
//	go run ./examples/quickstart
//
// It needs Linux, and no permission. Where the kernel has user_events and lets the program register them, it takes these.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/userevents/userevents-go/examples/webserver/users"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	// The command is a module of its own, so that programs do not depend on its dependencies.
	if err := run(ctx, os.Stdout, []string{"go", "run", "./cmd/uevents"}); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run shows what the command prints about the service.
func run(ctx context.Context, w io.Writer, command []string) (err error) {
	p, err := uevents.Open(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	events, err := sloghandler.New("quickstart", &sloghandler.Options{Provider: p})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, events.Close()) }()
	slog.SetDefault(slog.New(events))

	var store users.Store
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: store.Handler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // its error is that of Close
	defer func() { err = errors.Join(err, server.Close()) }()
	url := "http://" + listener.Addr().String()

	fmt.Fprintf(w, "A web service runs at %s. It logs records of all levels to events (transport: %s).\n\n", url, p.Transport())
	const quiet = 100
	for n := range quiet {
		if err := request(ctx, url, n); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "Nothing is attached: %d requests, %d records written.\n\n", quiet, written(events))

	with := func(args ...string) *exec.Cmd {
		return exec.CommandContext(ctx, command[0], slices.Concat(command[1:], args)...)
	}
	build := with("--version") // which may take time, and prints downloads
	build.Stderr = w
	if err := build.Run(); err != nil {
		return fmt.Errorf("%s, which shows the events on %s: %w", command[0], runtime.GOOS, err)
	}
	fmt.Fprintf(w, "$ uevents watch quickstart --level debug -n 12\n")
	watch := with("watch", "quickstart", "--level", "debug", "--pid", strconv.Itoa(os.Getpid()), "-n", "12")
	watch.Stdout, watch.Stderr = w, w
	if err := watch.Start(); err != nil {
		return fmt.Errorf("uevents watch: %w", err)
	}
	watched := make(chan error, 1)
	go func() { watched <- watch.Wait() }()
	for n, ended := 0, false; !ended; n++ {
		if err := request(ctx, url, n); err != nil {
			return errors.Join(err, <-watched)
		}
		select {
		case err := <-watched:
			if err != nil {
				return fmt.Errorf("uevents watch: %w", err)
			}
			ended = true
		case <-time.After(100 * time.Millisecond):
		}
	}
	fmt.Fprintf(w, `
The program was not configured for it, and not restarted. You can do the same to a server in another terminal:

  go run ./examples/webserver
  go run ./cmd/uevents watch webserver --level debug
`)
	return nil
}

// request requests a page of the service.
func request(ctx context.Context, url string, n int) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/users/"+strconv.Itoa(1+n%4), nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// written returns how many records the handler has written.
func written(h *sloghandler.Handler) (n uint64) {
	for _, s := range h.Stats() {
		n += s.Written
	}
	return n
}
