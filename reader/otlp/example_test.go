package otlp_test

import (
	"fmt"
	"log"
	"log/slog"

	"github.com/userevents/userevents-go/reader/otlp"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// A program logs, and a tool makes OpenTelemetry's log record of the event. Here one program does both on a simulated kernel; a
// real tool gets its events from a reader.Reader.
func Example() {
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	provider := kernel.Provider()
	defer provider.Close()
	handler, err := sloghandler.New("myapp", &sloghandler.Options{Provider: provider})
	if err != nil {
		log.Fatal(err)
	}
	defer handler.Close()
	tool, err := kernel.Attach(ueventstest.Perf, "myapp_error")
	if err != nil {
		log.Fatal(err)
	}
	slog.New(handler).Error("upstream failed", "attempt", 2)

	text, err := kernel.Format("myapp_error")
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
	converter := otlp.NewConverter(nil)
	var ev record.Record
	for _, r := range tool.Records() {
		raw := append(make([]byte, tracepoint.CommonSize), r.Payload...) // perf's records start with common fields
		if err := decoder.Decode(raw, &ev); err != nil {
			log.Fatal(err)
		}
		if err := converter.Add(&ev); err != nil {
			log.Print(err)
		}
	}
	converter.Flush() // nothing follows
	logs := converter.TakeLogs()
	logged := logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
	fmt.Println(logs.LogRecordCount(), logged.SeverityNumber(), logged.Body().AsString())
	for name, value := range logged.Attributes().All() {
		fmt.Println(name, value.Type(), value.AsString())
	}
	// Output:
	// 1 Error upstream failed
	// attempt Int 2
	// user_events.name Str myapp_error
}
