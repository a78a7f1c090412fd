package reader_test

import (
	"fmt"
	"log"
	"log/slog"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

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
	decoder, err := reader.NewDecoder("user_events", format)
	if err != nil {
		log.Fatal(err)
	}
	var ev reader.Event
	for _, r := range tool.Records() {
		raw := append(make([]byte, tracepoint.CommonSize), r.Payload...) // perf's records start with common fields
		if err := decoder.Decode(raw, &ev, nil); err != nil {
			log.Fatal(err)
		}
		fmt.Println(ev.Kind, ev.Severity, reader.StringValue(ev.Message))
		for _, f := range ev.Fields {
			fmt.Println(f.Name, f.Value.Type(), f.Value)
		}
	}
	// Output:
	// log WARN cache\nmiss
	// key string user:41
	// shard map {"id":3}
}
