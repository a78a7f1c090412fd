package flight

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/perfdata"
	pprof "github.com/userevents/userevents-go/cmd/uevents/internal/profile"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// writers writes to several formats, and counts records by message and process.
type writers struct {
	to     []output.Writer
	counts map[string]map[int32]int
	lost   uint64
}

func (w *writers) Write(ev *record.Record) error {
	if ev.Duplicate {
		// The clocks of a guest's CPUs differ: if the thread moves between its two records, the copy may seem to come
		// first.
		return nil
	}
	name := cmp.Or(ev.Message, ev.EventName)
	if w.counts[name] == nil {
		w.counts[name] = map[int32]int{}
	}
	w.counts[name][ev.PID]++
	var errs []error
	for _, to := range w.to {
		errs = append(errs, to.Write(ev))
	}
	return errors.Join(errs...)
}

func (w *writers) Lost(_ string, n uint64, _ time.Time) error {
	w.lost += n
	return nil
}

func (w *writers) Close() (err error) {
	for _, to := range w.to {
		err = errors.Join(err, to.Close())
	}
	return err
}

func arm(t *testing.T, o Options) *Recorder {
	t.Helper()
	o.Signals = signals
	r, err := Arm(o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	return r
}

func wait(t *testing.T, r *Recorder) Cause {
	t.Helper()
	cause, err := r.Wait(t.Context())
	require.NoError(t, err)
	return cause
}

func dump(t *testing.T, r *Recorder, cause Cause, to ...output.Writer) (Dump, *writers) {
	t.Helper()
	w := &writers{to: to, counts: map[string]map[int32]int{}}
	d, err := r.Dump(&cause, w)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return d, w
}

// triggered makes a subject log a slow request, and dumps after the trigger.
func triggered(t *testing.T, r *Recorder, s *subject, to ...output.Writer) (Cause, Dump, *writers) {
	t.Helper()
	s.send("request", 250)
	cause := wait(t, r)
	d, w := dump(t, r, cause, to...)
	s.expect("done")
	return cause, d, w
}

// TestFlight: a slow request of one process dumps the earlier records of two processes, with their stacks.
func TestFlight(t *testing.T) {
	kerneltest.Require(t)
	a, b := startSubject(t, "flighta"), startSubject(t, "flightb")
	r := arm(t, Options{
		Reader:  reader.Options{Selection: reader.Selection{Events: []string{"flighta", "flightb"}}, BufferSize: 256 << 10, Callchain: true},
		Trigger: condition("duration_ns > 100ms"),
	})
	a.do("log", 30)
	b.do("log", 20)
	b.do("retry", 12)
	a.do("request", 99) // too fast

	table := symbols.New()
	var profiled bytes.Buffer
	cause, d, w := triggered(t, r, a, pprof.NewWriter(&profiled, table, ""))
	assert.Equal(t, "user_events:flighta_request", cause.Event)
	assert.Equal(t, a.pid, cause.Process.PID)
	assert.Equal(t, map[string]map[int32]int{
		"handled": {a.pid: 30, b.pid: 20}, "retry": {b.pid: 12}, "flighta_request": {a.pid: 2},
	}, w.counts)
	assert.Equal(t, 2, d.Processes)
	assert.GreaterOrEqual(t, d.Records, uint64(64))
	assert.GreaterOrEqual(t, d.Last, cause.Monotonic, "the trigger is in it")

	checkProfile(t, &profiled)

	// A signal dumps the records since then.
	signals <- syscall.SIGUSR1
	_, _ = dump(t, r, wait(t, r))
	b.do("log", 3)
	signals <- syscall.SIGUSR1
	cause = wait(t, r)
	assert.Empty(t, cause.Event)
	_, w = dump(t, r, cause)
	assert.Equal(t, map[string]map[int32]int{"handled": {b.pid: 3}}, w.counts)

	// The trigger of a process that has exited has no name; the kept records do.
	b.do("log", 1)
	cause = Cause{Event: "user_events:flightb_info", Monotonic: uint64(sys.Nanotime()), Process: record.Process{PID: b.pid}}
	_, err := r.Dump(&cause, &writers{counts: map[string]map[int32]int{}})
	require.NoError(t, err)
	assert.Equal(t, b.pid, cause.Process.PID)
	assert.Equal(t, "flight.test", cause.Process.Comm)

	kept, trigger, err := r.Stats()
	require.NoError(t, err)
	total := kept.Total
	assert.Equal(t, total.Matched, total.Read+total.Lost+total.Pending+total.Overwritten)
	assert.Equal(t, uint64(1), trigger.Selected, "the requests that were too fast, and what has no duration, do not trigger")
}

func checkReplay(t *testing.T, file string, want int) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	table := symbols.New()
	r, err := perfdata.Open(f, table)
	require.NoError(t, err)
	n := 0
	var ev record.Record
	for {
		err := r.Next(&ev)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		n++
		assert.Equal(t, "flight.test", ev.Process.Comm)
		if ev.Message == "retry" {
			frames := table.Stack(&ev)
			assert.True(t, strings.HasSuffix(frames[0].Func, "flight.retry"), "%+v", frames)
		}
	}
	assert.Equal(t, want, n)
}

// checkProfile checks that the innermost function of each stack is the one that logged.
func checkProfile(t *testing.T, b *bytes.Buffer) {
	p, err := profile.Parse(b)
	require.NoError(t, err)
	logged := map[string]int64{}
	for _, s := range p.Sample {
		name := s.Location[0].Line[0].Function.Name
		logged[name[strings.LastIndex(name, ".")+1:]] += s.Value[0]
	}
	assert.Equal(t, map[string]int64{"handleRequest": 50, "retry": 12, "runSubject": 2}, logged)
}

// TestAge: a dump omits records that are too old.
func TestAge(t *testing.T) {
	kerneltest.Require(t)
	a := startSubject(t, "flightage")
	r := arm(t, Options{Reader: reader.Options{Selection: reader.Selection{Events: []string{"flightage"}}}, Keep: time.Hour})
	a.do("log", 5)
	time.Sleep(10 * time.Millisecond) //nolint:forbidigo // more than the clocks of CPUs differ
	between := uint64(sys.Nanotime())
	time.Sleep(10 * time.Millisecond) //nolint:forbidigo // the same
	a.do("retry", 5)
	signals <- syscall.SIGUSR1
	cause := wait(t, r)
	r.o.Keep = time.Duration(cause.Monotonic - between)
	d, w := dump(t, r, cause)
	assert.Equal(t, map[string]map[int32]int{"retry": {a.pid: 5}}, w.counts)
	assert.Equal(t, uint64(5), d.Records)
}

// TestNoTrigger: a condition that fits no event is refused.
func TestNoTrigger(t *testing.T) {
	kerneltest.Require(t)
	startSubject(t, "flightno")
	_, err := Arm(Options{Reader: reader.Options{Selection: reader.Selection{Events: []string{"flightno"}}}, Trigger: condition("kind == span")})
	assert.ErrorContains(t, err, "waiting for the trigger")
	assert.ErrorContains(t, err, "kind == span")
}

// TestPerfRecord: the reader finds in what perf record writes to a file and to a pipe the same records as perf script.
func TestPerfRecord(t *testing.T) {
	kerneltest.RequireTool(t, "perf")
	a := startSubject(t, "flightperf")
	logged := []string{"record", "-a", "-g", "-k", "mono", "-e", "user_events:flightperf_info"}
	for name, command := range map[string][]string{
		"file": slices.Concat([]string{"perf"}, logged, []string{"-o"}),
		// The output of what perf runs stays that of the shell.
		"pipe": {"sh", "-c", `file=$0; exec 3>&1 >"$file"; exec perf ` + strings.Join(logged, " ") + ` -o - -- sh -c 'exec "$@" >&3' sh "$@"`},
	} {
		file := filepath.Join(t.TempDir(), name)
		kerneltest.WhileRecording(t, func() { a.do("retry", 10) }, command[0], append(command[1:], file)...)
		out, err := exec.Command("perf", "script", "-i", file, "-F", "trace").CombinedOutput()
		require.NoError(t, err, "%s", out)
		n := strings.Count(string(out), "message=retry")
		require.Equal(t, 10, n, name)
		checkReplay(t, file, n)
	}
}

// envSubject turns the test binary into a program that logs under that name, controlled by its input.
const envSubject = "FLIGHT_SUBJECT"

func TestMain(m *testing.M) {
	if name := os.Getenv(envSubject); name != "" {
		if err := runSubject(name); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type request struct {
	Duration time.Duration `uevent:"duration_ns"`
}

func runSubject(name string) error {
	h, err := sloghandler.New(name, &sloghandler.Options{
		Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[request]("request", nil)},
	})
	if err != nil {
		return err
	}
	logger := slog.New(h)
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		command, argument, _ := strings.Cut(in.Text(), " ")
		n, err := strconv.Atoi(argument)
		if err != nil {
			return err
		}
		switch command {
		case "log":
			for i := range n {
				handleRequest(logger, i)
			}
		case "retry":
			for i := range n {
				retry(logger, i)
			}
		case "request":
			logger.Info("request", "duration", time.Duration(n)*time.Millisecond)
		}
		fmt.Println("done")
	}
	return h.Close()
}

//go:noinline
func handleRequest(logger *slog.Logger, i int) {
	logger.Info("handled", "n", i)
}

//go:noinline
func retry(logger *slog.Logger, i int) {
	logger.Info("retry", "n", i)
}

// subject is a process of this test binary with envSubject.
type subject struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
	pid int32
}

func startSubject(t *testing.T, name string) *subject {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), envSubject+"="+name)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NoError(t, in.Close())
		assert.NoError(t, cmd.Wait())
	})
	s := &subject{t, in, bufio.NewScanner(out), int32(cmd.Process.Pid)}
	s.expect("ready")
	return s
}

func (s *subject) expect(line string) {
	s.t.Helper()
	require.True(s.t, s.out.Scan(), "the subject ended")
	require.Equal(s.t, line, s.out.Text())
}

// do makes the subject log, and waits until it has.
func (s *subject) do(command string, n int) {
	s.t.Helper()
	s.send(command, n)
	s.expect("done")
}

func (s *subject) send(command string, n int) {
	s.t.Helper()
	_, err := fmt.Fprintln(s.in, command, n)
	require.NoError(s.t, err)
}

// BenchmarkWrite measures the overhead of a waiting recorder for the writing program: of a record that only goes into
// the rings, and of one that the trigger's filter also checks.
func BenchmarkWrite(b *testing.B) {
	kerneltest.Require(b)
	p, err := uevents.Open(nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, p.Close()) })
	for _, c := range []struct {
		name    string
		trigger *where.Condition
	}{{"Kept", nil}, {"KeptWithTrigger", condition("duration_ns > 100ms")}} {
		b.Run(c.name, func(b *testing.B) {
			ev, err := p.Register(tracepoint.MustParse("flightbench s64 duration_ns; u64 seq"), nil)
			require.NoError(b, err)
			r, err := Arm(Options{Reader: reader.Options{Selection: reader.Selection{Events: []string{"flightbench"}}}, Trigger: c.trigger})
			require.NoError(b, err)
			rec := make([]byte, 20)
			written, err := ev.WriteRecord(rec)
			require.NoError(b, err)
			require.True(b, written)
			for b.Loop() {
				_, _ = ev.WriteRecord(rec) // the check before has succeeded
			}
			b.StopTimer()
			require.NoError(b, r.Close())
			require.NoError(b, ev.Close())
		})
	}
}
