package perf_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// A tool prints the records of events until it is interrupted, including those of programs that start later.
func Example() {
	err := func() error {
		dir, err := tracefs.Find()
		if err != nil {
			return err
		}
		session, err := perf.Open(dir, nil)
		if err != nil {
			return err
		}
		defer session.Close()
		err = session.Follow(func(e *tracefs.Event) *perf.AttachOptions {
			if !strings.HasPrefix(e.Name(), "myapp_") {
				return nil
			}
			return &perf.AttachOptions{}
		}, func(e *tracefs.Event, _ *perf.Source, err error) {
			fmt.Fprintln(os.Stderr, "attached to", e, err)
		})
		if err != nil {
			return err
		}
		interrupted := make(chan os.Signal, 1)
		signal.Notify(interrupted, os.Interrupt)
		go func() {
			<-interrupted
			_ = session.Stop() // ReadInto returns the rest, and then io.EOF
		}()
		var r perf.Record
		for err = session.ReadInto(&r); err == nil; err = session.ReadInto(&r) {
			fmt.Printf("%v %v[%d] %q\n", r.Time, r.Source, r.PID, r.Payload())
		}
		stats, statsErr := session.Stats()
		fmt.Fprintf(os.Stderr, "%d records, %d lost\n", stats.Total().Read, stats.Total().Lost)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return errors.Join(err, statsErr)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// A tool keeps the latest records in the kernel's memory, at no cost but that of writing them, and prints them when the
// program is asked to.
func ExampleSession_Snapshot() {
	err := func() error {
		dir, err := tracefs.Find()
		if err != nil {
			return err
		}
		session, err := perf.Open(dir, &perf.Options{Overwrite: true, BufferSize: 4 << 20})
		if err != nil {
			return err
		}
		defer session.Close()
		if _, err := session.Attach("myapp_debug", nil); err != nil {
			return err
		}
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, os.Interrupt)
		<-asked
		return session.Snapshot(func(r *perf.Record) error {
			_, err := fmt.Printf("%v %v[%d] %q\n", r.Time, r.Source, r.PID, r.Payload())
			return err
		})
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
