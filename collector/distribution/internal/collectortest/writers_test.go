package collectortest

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/sloghandler/oteltrace"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

const (
	// envWriter is set to the name of a writer to make the test binary run it.
	envWriter = "COLLECTORTEST_WRITER"
	// envProgram is the first part of the names of its events, other than "collected".
	envProgram = "COLLECTORTEST_PROGRAM"
	// envSurroundings is set to the name of what it does first.
	envSurroundings = "COLLECTORTEST_SURROUNDINGS"
)

// surroundings change those of the process.
var surroundings = map[string]func() error{}

func TestMain(m *testing.M) {
	if f := surroundings[os.Getenv(envSurroundings)]; f != nil {
		must(f())
	}
	f, ok := writers[os.Getenv(envWriter)]
	if !ok {
		leakcheck.Main(m)
	}
	w, err := parseWriter(os.Args[1:])
	must(err)
	must(f(w))
}

// must ends a writer that has an error.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// writers are programs that write records of one kind each.
var writers = map[string]func(*writer) error{"slog": writeSlog, "otel": writeOtel, "headers": writeHeaders, "requests": writeRequests}

// named returns the name of a program's events.
func named(name string) string { return cmp.Or(os.Getenv(envProgram), "collected") + "_" + name }

// writer is one of the programs. It registers events, creates the file ready, and writes when the file begin exists, or, without files, when
// its input ends. At the end it prints the numbers of records that it wrote, by tracepoint, as JSON.
type writer struct {
	ready, begin string // files; "" if there is no place for them
	records      int
	perSecond    int // 0: as fast as it can
	more         []string
}

func parseWriter(args []string) (*writer, error) {
	if len(args) < 4 {
		return nil, errors.New("a writer takes READY BEGIN RECORDS PER_SECOND and more")
	}
	w := &writer{ready: args[0], begin: args[1], more: args[4:]}
	var err, err2 error
	w.records, err = strconv.Atoi(args[2])
	w.perSecond, err2 = strconv.Atoi(args[3])
	return w, errors.Join(err, err2)
}

// run writes the records with write, and prints what written returns.
func (w *writer) run(write func(n int) error, written func() map[string]uint64) error {
	if err := w.wait(); err != nil {
		return err
	}
	began := time.Now()
	for n := range w.records {
		if w.perSecond > 0 {
			at := began.Add(time.Duration(n) * time.Second / time.Duration(w.perSecond))
			if early := time.Until(at); early > 5*time.Millisecond { //nolint:forbidigo // pacing, some at a time
				time.Sleep(early) //nolint:forbidigo // the same
			}
		}
		if err := write(n); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(written())
}

// wait waits for the begin.
func (w *writer) wait() error {
	if w.ready == "" {
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	}
	if err := os.WriteFile(w.ready, nil, 0o600); err != nil {
		return err
	}
	for end := testscale.Deadline(); ; time.Sleep(5 * time.Millisecond) { //nolint:forbidigo // the poll interval
		if _, err := os.Stat(w.begin); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// writeSlog writes log records with five attributes.
func writeSlog(w *writer) error {
	h, err := sloghandler.New(named("slog"), nil)
	must(err)
	logger := slog.New(h)
	err = w.run(func(n int) error {
		request(logger, n)
		return nil
	}, func() map[string]uint64 { return writtenOf(h) })
	return errors.Join(err, h.Close())
}

// writtenOf returns the numbers of records that a handler has written.
func writtenOf(h *sloghandler.Handler) map[string]uint64 {
	counts := map[string]uint64{}
	for name, s := range h.Stats() {
		counts[name] = s.Written
	}
	return counts
}

// request logs a record. It is also what the benchmark has in a file.
func request(logger *slog.Logger, n int) {
	logger.Info("request served", "method", "GET", "route", "/users/{id}", "status", 200, "latency_ms", 1.5, "n", n)
}

// failing is of how many requests one fails.
const failing = 10

// writeRequests writes the log records of requests: two of level debug, one of level info, and one of level error if the request fails.
func writeRequests(w *writer) error {
	h, err := sloghandler.New(named("requests"), &sloghandler.Options{TraceContext: oteltrace.Context})
	must(err)
	l := slog.New(h)
	err = w.run(func(n int) error {
		id := trace.TraceID{}
		binary.BigEndian.PutUint64(id[:], uint64(n+1))
		ctx := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: trace.SpanID{1}}))
		l.DebugContext(ctx, "looks for the user", "n", n)
		l.InfoContext(ctx, "request served", "n", n)
		if n%failing == 0 {
			l.ErrorContext(ctx, "no such user", "n", n)
		}
		l.DebugContext(ctx, "frees the memory", "n", n)
		return nil
	}, func() map[string]uint64 { return writtenOf(h) })
	return errors.Join(err, h.Close())
}

// writeOtel writes log records and spans in turn.
func writeOtel(w *writer) error {
	ctx := context.Background()
	logs, err := ueventslog.NewLoggerProvider(named("otel"))
	must(err)
	spans, err := ueventstrace.NewTracerProvider(named("otel"))
	must(err)
	logger, tracer := logs.Logger("shop"), spans.Tracer("shop")
	err = w.run(func(n int) error {
		if n%2 == 1 {
			_, span := tracer.Start(ctx, "GET /users/{id}")
			span.End()
			return nil
		}
		var r log.Record
		r.SetSeverity(log.SeverityInfo)
		r.SetBody(attribute.StringValue("request served"))
		r.AddAttributes(attribute.Int("n", n))
		logger.Emit(ctx, r)
		return nil
	}, func() map[string]uint64 {
		counts := map[string]uint64{}
		for name, s := range logs.Stats() {
			counts[name] = s.Written
		}
		for name, s := range spans.Stats() {
			counts[name] = s.Written
		}
		return counts
	})
	return errors.Join(err, spans.Shutdown(ctx), logs.Shutdown(ctx))
}

// eventHeaders has records of other EventHeader programs, which cmd/uevents shows in its tests: lines of the name of a tracepoint and a payload in
// hexadecimal.
var eventHeaders = filepath.Join("..", "..", "..", "..", "cmd", "uevents", "internal", "cli", "testdata", "kernel", "eventheader.txt")

// writeHeaders writes EventHeader records that other programs made, in turn.
func writeHeaders(w *writer) error {
	text, err := os.ReadFile(w.more[0])
	must(err)
	_, rest, _ := strings.Cut(string(text), "\n-- records --\n")
	lines, _, ok := strings.Cut(rest, "\n-- ")
	if !ok {
		return fmt.Errorf("%s has no records", w.more[0])
	}
	p, err := uevents.Open(nil)
	must(err)
	type golden struct {
		name    string
		event   *uevents.Event
		payload []byte
	}
	var all []golden
	for line := range strings.Lines(lines) {
		name, digits, _ := strings.Cut(line, " ")
		g := golden{name: named(name)}
		g.payload, err = hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		must(err)
		g.payload = append(make([]byte, uevents.IndexSize), g.payload...)
		d := tracepoint.MustParse(g.name + " u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level")
		g.event, err = p.Register(d, &uevents.EventOptions{Naming: uevents.NameExact})
		must(err)
		all = append(all, g)
	}
	counts := map[string]uint64{}
	err = w.run(func(n int) error {
		g := all[n%len(all)]
		written, err := g.event.WriteRecord(g.payload)
		if written {
			counts[g.name]++
		}
		return err
	}, func() map[string]uint64 { return counts })
	return errors.Join(err, p.Close())
}
