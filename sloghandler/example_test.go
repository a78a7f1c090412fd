package sloghandler_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// The records that a tracing tool gets, in a test.
func ExampleOptions() {
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	events, err := sloghandler.New("myapp", &sloghandler.Options{Provider: p, Level: slog.LevelInfo})
	if err != nil {
		log.Fatal(err)
	}
	defer events.Close()
	tool, err := kernel.Attach(ueventstest.Perf, "myapp_*")
	if err != nil {
		log.Fatal(err)
	}

	slog.New(events).WithGroup("http").Warn("slow", "route", "/users/{id}")

	printRecords(tool, "level", "message", "attributes")
	// Output: myapp_warn: level=4 message=slow attributes={"http":{"route":"/users/{id}"}}
}

// The id of a request in each of its records, without OpenTelemetry. The middleware of a web service puts it into the context, and log
// calls have the context; examples/requestid also takes the id of the caller.
//
//	uevents watch myapp --when 'level >= error' --same request_id
func ExampleOptions_requestID() {
	type requestIDKey struct{}
	withRequestID := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestIDKey{}, rand.Text())))
		})
	}
	requestAttrs := func(ctx context.Context) []slog.Attr {
		if id, ok := ctx.Value(requestIDKey{}).(string); ok {
			return []slog.Attr{slog.String("request_id", id)}
		}
		return nil
	}

	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	events, err := sloghandler.New("myapp", &sloghandler.Options{
		Provider:        p,
		AttrFromContext: []func(context.Context) []slog.Attr{requestAttrs},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer events.Close()
	tool, err := kernel.Attach(ueventstest.Perf, "myapp_*")
	if err != nil {
		log.Fatal(err)
	}

	logger := slog.New(events)
	handler := withRequestID(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		logger.DebugContext(r.Context(), "cache miss", "user", 41)
		logger.ErrorContext(r.Context(), "query failed", "user", 41)
		logger.Debug("without the context")
	}))
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))

	var ids []string
	for _, r := range tool.Records() {
		decoder, err := typed.NewDecoder(r.Declaration, nil)
		if err != nil {
			log.Fatal(err)
		}
		record, err := decoder.Decode(r.Payload)
		if err != nil {
			log.Fatal(err)
		}
		message, _ := record.Lookup("message")
		attributes, _ := record.Lookup("attributes")
		var has struct {
			ID string `json:"request_id"`
		}
		if err := json.Unmarshal(attributes.AppendTo(nil), &has); err != nil {
			log.Fatal(err)
		}
		ids = append(ids, has.ID)
		fmt.Println(message, has.ID != "")
	}
	fmt.Println(ids[0] == ids[1])
	// Output:
	// cache miss true
	// query failed true
	// without the context false
	// true
}

// For the whole program: slog.SetDefault also takes over what package log prints.
func ExampleHandler() {
	events, err := sloghandler.New("myapp", nil)
	if err != nil {
		log.Print(err)
	}
	defer events.Close()
	old := slog.Default()
	defer slog.SetDefault(old)
	slog.SetDefault(slog.New(events))
	log.Print("becomes a record of level info")
	slog.Warn("so does this, of level warn")
}

// A library that prints to a log.Logger or an io.Writer, as records of a level that is chosen
// here.
func ExampleHandler_logger() {
	events, err := sloghandler.New("myapp", nil)
	if err != nil {
		log.Print(err)
	}
	defer events.Close()
	errorLog := slog.NewLogLogger(events, slog.LevelError) // for http.Server.ErrorLog
	errorLog.Print("TLS handshake error")

	printed := log.New(os.Stdout, "", 0)
	printed.SetOutput(errorLog.Writer())
	printed.Print("becomes a record of level error")
}

// A hot path whose records no other handler needs: no front end of slog, no search for the caller.
func ExampleHandler_LogAttrs() {
	events, err := sloghandler.New("myapp", nil)
	if err != nil {
		log.Print(err)
	}
	defer events.Close()
	for _, size := range []int{512, 4096} {
		events.LogAttrs(context.Background(), slog.LevelDebug, "packet", slog.Int("size", size))
	}
}

// Records of one message as an event of their own, which the kernel filters and adds up:
//
//	echo 'hist:keys=route,status:vals=latency_ns' > events/user_events/myapp_http_request/trigger
//
// A tool that is attached to both events of a record, as with myapp_*, gets it twice. The copy in the event of the level says so.
func ExampleDeclare() {
	type HTTPRequest struct {
		Route   string        `uevent:"route"`
		Status  uint16        `uevent:"status"`
		Latency time.Duration `uevent:"latency_ns"`
	}
	requests := sloghandler.Declare[HTTPRequest]("http request", nil)

	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	events, err := sloghandler.New("myapp", &sloghandler.Options{Provider: p, Declarations: []sloghandler.AnyDeclaration{requests}})
	if err != nil {
		log.Fatal(err)
	}
	defer events.Close()
	tool, err := kernel.Attach(ueventstest.Ftrace, "myapp_*")
	if err != nil {
		log.Fatal(err)
	}

	logger := slog.New(events).With("route", "/users/{id}")
	logger.Info("http request", "status", 200, "latency", 1500*time.Microsecond, "cached", true)
	logger.Info("another message")

	printRecords(tool, "status", "latency_ns", "message", "duplicate", "attributes")
	// Output:
	// myapp_http_request: status=200 latency_ns=1500000 attributes={"cached":true}
	// myapp_info: message=http request duplicate=1 attributes={"route":"/users/{id}","status":200,"latency":1500000,"cached":true}
	// myapp_info: message=another message duplicate=0 attributes={"route":"/users/{id}"}
}

// A hot path logs the struct itself, past slog's front end. The records are those of the same log call with attributes.
func ExampleDeclaration_Logger() {
	type HTTPRequest struct {
		Route   string        `uevent:"route"`
		Status  uint16        `uevent:"status"`
		Latency time.Duration `uevent:"latency_ns"`
	}
	declaration := sloghandler.Declare[HTTPRequest]("http request", nil)

	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	events, err := sloghandler.New("myapp", &sloghandler.Options{Provider: p, Declarations: []sloghandler.AnyDeclaration{declaration}})
	if err != nil {
		log.Fatal(err)
	}
	defer events.Close()
	tool, err := kernel.Attach(ueventstest.Ftrace, "myapp_http_request")
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	requests := declaration.Logger(events)
	if requests.Enabled(ctx, slog.LevelInfo) { // the guard for arguments that take work
		requests.Log(ctx, slog.LevelInfo, &HTTPRequest{Route: "/users/{id}", Status: 200, Latency: 1500 * time.Microsecond})
	}
	requests.LogAttrs(ctx, slog.LevelInfo, slog.String("route", "/orders"), slog.Int("status", 404), slog.Bool("cached", true))

	printRecords(tool, "route", "status", "attributes")
	// Output:
	// myapp_http_request: route=/users/{id} status=200 attributes={}
	// myapp_http_request: route=/orders status=404 attributes={"cached":true}
}

// printRecords prints some fields of the records of a tool.
func printRecords(tool *ueventstest.Tool, names ...string) {
	for _, r := range tool.Records() {
		decoder, err := typed.NewDecoder(r.Declaration, nil)
		if err != nil {
			log.Fatal(err)
		}
		record, err := decoder.Decode(r.Payload)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(r.Event, ":")
		for _, name := range names {
			if v, ok := record.Lookup(name); ok {
				fmt.Printf(" %s=%s", name, v.AppendTo(nil))
			}
		}
		fmt.Println()
	}
}
