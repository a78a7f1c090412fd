package reader_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/userevents/userevents-go/reader"
)

// A tool attaches to the log records of a running program from level debug on, including events that appear later, and
// prints them for ten seconds.
func ExampleReader_Events() {
	where, err := reader.ParseCondition("level >= warn")
	if err != nil {
		log.Fatal(err)
	}
	r, err := reader.Open(&reader.Options{
		Events: []string{"myapp"},
		Where:  where,
		Notify: func(n reader.Notice) { fmt.Fprintln(os.Stderr, n.Kind, n.Event, n.Count, n.Err) },
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for ev, err := range r.Events(ctx) {
		if err != nil {
			log.Print(err)
			break
		}
		fmt.Println(ev.Time, ev.Process.PID, ev.Severity, reader.StringValue(ev.Message)) // as one printable line
	}
	if st, err := r.Stats(); err == nil {
		fmt.Println(st.Selected, "records,", st.Total.Lost, "lost")
	}
	if err := r.Close(); err != nil {
		log.Print(err)
	}
}
