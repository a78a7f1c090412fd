package reader_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// A tool attaches to the log records of a running program from level debug on, including events that appear later, and
// prints them for ten seconds.
func ExampleReader_Events() {
	where, err := where.Parse("level >= warn")
	if err != nil {
		log.Fatal(err)
	}
	r, err := reader.Open(&reader.Options{
		Selection: reader.Selection{Events: []string{"myapp"}, Where: where},
		Notify:    func(n reader.Notice) { fmt.Fprintln(os.Stderr, n.Kind, n.Event, n.Count, n.Err) },
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
		fmt.Println(ev.Time, ev.Process.PID, ev.Severity, record.StringValue(ev.Message)) // as one printable line
	}
	if st, err := r.Stats(); err == nil {
		fmt.Println(st.Selected, "records,", st.Total.Lost, "lost")
	}
	if err := r.Close(); err != nil {
		log.Print(err)
	}
}

// A program logs, and a tool decodes the record. Here one program does both on a simulated kernel; a real tool gets
// formats from package tracefs and records from package perf.
func ExampleDecoder() {
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	provider := kernel.Provider()
	defer provider.Close()
	handler, err := sloghandler.New("myapp", &sloghandler.Options{Provider: provider})
	if err != nil {
		log.Fatal(err)
	}
	defer handler.Close()
	tool, err := kernel.Attach(ueventstest.Perf, "myapp_warn")
	if err != nil {
		log.Fatal(err)
	}
	slog.New(handler).Warn("cache\nmiss", "key", "user:41", slog.Group("shard", "id", 3))

	text, err := kernel.Format("myapp_warn")
	if err != nil {
		log.Fatal(err)
	}
	format, err := tracepoint.ParseFormat(text)
	if err != nil {
		log.Fatal(err)
	}
	decoder, err := record.NewDecoder("user_events", format)
	if err != nil {
		log.Fatal(err)
	}
	var ev record.Record
	for _, r := range tool.Records() {
		raw := append(make([]byte, tracepoint.CommonSize), r.Payload...) // perf's records start with common fields
		if err := decoder.Decode(raw, &ev); err != nil {
			log.Fatal(err)
		}
		fmt.Println(ev.Kind, ev.Severity, record.StringValue(ev.Message))
		for _, f := range ev.Fields() {
			fmt.Println(f.Name, f.Value.Type(), f.Value)
		}
	}
	// Output:
	// log WARN cache\nmiss
	// key string user:41
	// shard map {"id":3}
}
