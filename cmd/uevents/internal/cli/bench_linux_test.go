package cli

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// BenchmarkRead measures the cost of a record for the tool, from the ring to the file, without the write of the program.
// The record has five attributes.
func BenchmarkRead(b *testing.B) {
	kerneltest.Require(b)
	benchmarkRead(b, uevents.TransportKernel, reader.TransportKernel)
}

// BenchmarkReadMemory is BenchmarkRead for shared memory.
func BenchmarkReadMemory(b *testing.B) {
	benchmarkRead(b, uevents.TransportMemory, reader.TransportMemory)
}

func benchmarkRead(b *testing.B, written uevents.Transport, read reader.Transport) {
	b.Setenv(uevents.EnvTransport, written.String())
	h, err := sloghandler.New("benchread", nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, h.Close()) })
	logger := slog.New(h)
	write := func(n int) {
		for range n {
			logger.Info("GET /users/{id}", "http.request.method", "GET", "http.route", "/users/{id}",
				"http.response.status_code", 200, "latency", 0.0015, "cached", true)
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, null.Close()) })
	alone := selection{noFollow: true}
	patterns := []string{"benchread_info"}
	for _, format := range []string{"json", "text", "{{.latency}}"} {
		name := format
		if format[0] == '{' {
			name = "template"
		}
		b.Run("watch-"+name, func(b *testing.B) {
			e := newEnv()
			e.out, e.err = null, io.Discard
			w, o, err := e.newWatcher(&watchFlags{selection: alone, outputFlags: outputFlags{format: format, time: "local"}}, patterns)
			require.NoError(b, err)
			o.Transport = read
			p := openPortions(b, o)
			w.source = p
			p.measure(b, write, func() error {
				if err := w.read(); !errors.Is(err, io.EOF) {
					return err
				}
				return w.flush()
			})
			require.Equal(b, p.read, w.shown)
		})
	}
	b.Run("record-jsonl", func(b *testing.B) {
		e := newEnv()
		e.err = io.Discard
		f := recordFlags{selection: alone, output: filepath.Join(b.TempDir(), "t.jsonl")}
		o, ro, err := f.recordOptions(patterns)
		require.NoError(b, err)
		o.Transport = read
		p := openPortions(b, o)
		r := e.newRecorder(&f, o)
		r.source, r.progress.e = p, e
		r.file, err = f.rotation.create(b.Context(), e, f.output, ro)
		require.NoError(b, err)
		p.measure(b, write, func() error {
			if err := r.read(); !errors.Is(err, io.EOF) {
				return err
			}
			return r.file.flush()
		})
		require.Equal(b, p.read, r.counted.records)
		require.NoError(b, r.file.Close())
	})
}

// BenchmarkReplay measures the cost of a record that is read from a recording and written to a file. The record is that of BenchmarkRead.
func BenchmarkReplay(b *testing.B) {
	name := filepath.Join(b.TempDir(), "t.jsonl")
	file, err := os.Create(name)
	require.NoError(b, err)
	lines := bufio.NewWriter(file)
	w, err := output.New("json", lines, output.Options{})
	require.NoError(b, err)
	at := time.Unix(1_700_000_000, 0).UTC()
	ev := record.Record{
		System: "user_events", Name: "benchread_info", Kind: record.KindLog, Severity: record.SeverityInfo, SeverityText: "INFO", Message: "GET /users/{id}",
		PID: 812, TID: 815, CPU: 1, Process: &record.Process{PID: 812, Comm: "cli.test", Exe: "/tmp/cli.test", Cgroup: "/system.slice/bench.service", Unit: "bench.service"},
	}
	ev.SetFields([]record.Field{
		{Name: "http.request.method", Value: record.StringValue("GET")},
		{Name: "http.route", Value: record.StringValue("/users/{id}")},
		{Name: "http.response.status_code", Value: record.Int64Value(200)},
		{Name: "latency", Value: record.Float64Value(0.0015)},
		{Name: "cached", Value: record.BoolValue(true)},
	})
	for range b.N {
		at = at.Add(1234567)
		ev.Time, ev.Timestamp, ev.Monotonic = at, at.Add(-2345), uint64(at.UnixNano())/1000
		require.NoError(b, w.Write(&ev))
	}
	require.NoError(b, errors.Join(lines.Flush(), file.Close()))
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, null.Close()) })
	var said syncbuffer.Buffer
	e := newEnv()
	e.out, e.err = null, &said
	b.ReportAllocs()
	b.ResetTimer()
	err = e.replay(b.Context(), &replayFlags{outputFlags: outputFlags{format: "json", time: "local"}}, []string{name})
	b.StopTimer()
	require.NoError(b, err)
	require.Empty(b, said.String())
}

// portions is a reader whose records end after each portion.
type portions struct {
	source
	left int
	read uint64
}

func openPortions(b *testing.B, o *reader.Options) *portions {
	live, err := openLive(o)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, live.Close()) })
	return &portions{source: live}
}

func (p *portions) Next(ev *record.Record) error {
	if p.left == 0 {
		return io.EOF
	}
	err := p.source.Next(ev)
	if err == nil {
		p.left--
		p.read++
	}
	return err
}

// portion is a number of records that fills about a quarter of a ring, at which the kernel wakes the tool.
const portion = 400

// measure writes records and measures read, which reads them. The first portion is not counted: it fills caches.
func (p *portions) measure(b *testing.B, write func(n int), read func() error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	b.ReportAllocs()
	some := func(n int) {
		b.StopTimer()
		write(n)
		p.left = n
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // longer than records are held back; only the figure depends on it
		b.StartTimer()
		require.NoError(b, read())
	}
	some(portion)
	b.ResetTimer()
	for left := b.N; left > 0; left -= portion {
		some(min(left, portion))
	}
	b.StopTimer()
}

// BenchmarkFullRate writes records as fast as it can while the command reads them in another process. It reports the processor
// time of the command for each record that it read, how many were lost, and the most memory that the command had. Every
// record is read or counted as lost.
func BenchmarkFullRate(b *testing.B) {
	kerneltest.Require(b)
	const event = "benchfullrate"
	dir := b.TempDir()
	for _, command := range []struct {
		name string
		args []string
	}{
		{"watch-json", []string{"uevents", "watch", event, "-o", "json", "--duration", "0"}},
		{"record-jsonl", []string{"uevents", "record", event, "-o", filepath.Join(dir, "t.jsonl")}},
	} {
		b.Run(command.name, func(b *testing.B) {
			p, err := uevents.Open(nil)
			require.NoError(b, err)
			defer func() { require.NoError(b, p.Close()) }()
			ev, err := p.Register(tracepoint.MustParse(event+" s64 duration_ns; u64 seq; char[176] text"), nil)
			require.NoError(b, err)
			end := startTool(b, ev, command.args)
			logged := make([]byte, uevents.IndexSize+192)
			for range b.N {
				_, _ = ev.WriteRecord(logged) // the sum below shows whether it succeeds
			}
			state, said := end()
			require.Zero(b, state.ExitCode(), said)
			s, err := summaryOf(said)
			require.NoError(b, err)
			read, lost := s.parts["shown"]+s.parts["recorded"], s.parts["lost"]
			require.Equal(b, []int{b.N, b.N}, []int{s.matched, read + lost}, said)
			b.ReportMetric(float64(state.UserTime()+state.SystemTime())/float64(read), "ns/op")
			b.ReportMetric(float64(lost), "lost-records")
			b.ReportMetric(float64(state.SysUsage().(*syscall.Rusage).Maxrss)*1024, "max-resident-bytes")
		})
	}
}

// BenchmarkWriter measures the cost of a record for the program that writes it, while a tool is attached: with the wakeups of the
// tool, and in a guest that counts without its work, since the processor is the program's as long as it wants it.
func BenchmarkWriter(b *testing.B) {
	if kerneltest.RequireTool(b, "perf"); runtime.NumCPU() > 1 {
		b.Skip("not on this kernel: with several processors the tool reads meanwhile, and nothing counts instructions")
	}
	const event = "benchwriter"
	dir := b.TempDir()
	for _, tool := range []struct {
		name string
		args []string
	}{
		{"perf-record", []string{"perf", "record", "-a", "-e", "user_events:" + event, "-o", filepath.Join(dir, "perf.data")}},
		{"watch", []string{"uevents", "watch", event, "-o", "json", "--duration", "0"}},
		{"watch-when", []string{"uevents", "watch", event, "-o", "json", "--duration", "0", "--when", "duration_ns < 1000000000", "--same", "seq"}},
		{"record", []string{"uevents", "record", event, "-o", filepath.Join(dir, "t.jsonl")}},
		{"flight", []string{"uevents", "flight", event, "-o", dir}},
		{"flight-trigger", []string{"uevents", "flight", event, "-o", dir, "--trigger", "duration_ns > 100000000"}},
	} {
		b.Run(tool.name, func(b *testing.B) {
			p, err := uevents.Open(nil)
			require.NoError(b, err)
			defer func() { require.NoError(b, p.Close()) }()
			ev, err := p.Register(tracepoint.MustParse(event+" s64 duration_ns; u64 seq; char[176] text"), nil)
			require.NoError(b, err)
			end := startTool(b, ev, tool.args)
			writeAll(b, ev)
			_, said := end()
			if what := map[string]string{"watch": "shown", "watch-when": "shown", "record": "recorded"}[tool.name]; what != "" {
				s, err := summaryOf(said)
				require.NoError(b, err)
				require.Equal(b, b.N, s.matched)
				require.Equal(b, map[string]int{what: b.N}, s.parts, "all records were read: %s", said)
			}
			require.False(b, ev.Enabled(), "the tool has detached")
		})
	}
}

// startTool starts a tool in a process of its own, with its output to /dev/null, and waits until it is attached. end interrupts
// it, and returns the process and what it said on standard error.
func startTool(b *testing.B, ev *uevents.Event, args []string) (end func() (*os.ProcessState, string)) {
	cmd := exec.Command(args[0], args[1:]...)
	var said syncbuffer.Buffer
	cmd.Stderr = &said
	if args[0] == "perf" { // it answers commands once it is attached
		commands, command, err := os.Pipe()
		require.NoError(b, err)
		answer, answers, err := os.Pipe()
		require.NoError(b, err)
		defer func() { require.NoError(b, errors.Join(command.Close(), answer.Close())) }()
		cmd.Args, cmd.ExtraFiles = append(cmd.Args, "--control", "fd:3,4"), []*os.File{commands, answers}
		require.NoError(b, cmd.Start())
		require.NoError(b, errors.Join(commands.Close(), answers.Close()))
		_, err = command.WriteString("ping\n")
		require.NoError(b, err)
		_, err = answer.Read(make([]byte, len("ack\n")))
		require.NoError(b, err)
	} else {
		require.NoError(b, cmd.Start())
		testscale.Eventually(b, func() bool { return strings.Contains(said.String(), "\n") }, "it says when it is attached")
	}
	require.True(b, ev.Enabled())
	return func() (*os.ProcessState, string) {
		require.NoError(b, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait() // perf ends by the signal that it got
		return cmd.ProcessState, said.String()
	}
}

// writeAll writes b.N records and measures that. Between some of them it sleeps, so that the tool reads: no record is lost.
func writeAll(b *testing.B, ev *uevents.Event) {
	logged := make([]byte, uevents.IndexSize+192)
	b.ResetTimer()
	for left := b.N; left > 0; left -= portion {
		b.StartTimer()
		for range min(left, portion) {
			_, _ = ev.WriteRecord(logged) // the caller checks that the event is enabled
		}
		b.StopTimer()
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // pacing of the load, which is not measured
	}
}
