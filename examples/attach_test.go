//go:build linux && amd64

package examples

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/memory/attachtest"
	"github.com/userevents/userevents-go/internal/memory/layout"
	_ "github.com/userevents/userevents-go/internal/memory/private"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/structevent"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// envProgram makes the test binary the program that the script attaches to.
const envProgram = "USER_EVENTS_TEST_ATTACH"

func TestMain(m *testing.M) {
	if os.Getenv(envProgram) != "" {
		if err := serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "program:", err)
			os.Exit(1)
		}
		return
	}
	leakcheck.Main(m)
}

type request struct {
	Method  string        `uevent:"method"`
	Small   uint8         `uevent:"small"`
	Port    uint16        `uevent:"port"`
	Signed  int32         `uevent:"signed"`
	Status  uint32        `uevent:"status"`
	Latency time.Duration `uevent:"latency_ns"`
	Bytes   uint64        `uevent:"bytes"`
	Codes   []uint16      `uevent:"codes"`
	Route   string        `uevent:"route"`
}

// serve is the program. It does what the lines of in say, and answers each with a line.
func serve(in io.Reader, out io.Writer) error {
	p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
	if err != nil {
		return err
	}
	events := map[string]*uevents.Event{}
	var requests *structevent.Event[request]
	var handler *sloghandler.Handler
	for lines := bufio.NewScanner(in); lines.Scan(); {
		command, rest, _ := strings.Cut(lines.Text(), " ")
		name, rest, _ := strings.Cut(rest, " ")
		answer := "done"
		switch command {
		case "register":
			events[name], err = p.Register(tracepoint.MustParse(strings.TrimSpace(name+" "+rest)), nil)
		case "close": // all, which closes the memory
			err = p.Close()
		case "enabled":
			answer = strconv.FormatBool(events[name].Enabled())
		case "write": // a payload
			payload, e := hex.DecodeString(rest)
			if e != nil {
				return e
			}
			_, err = events[name].WriteRecord(append(make([]byte, uevents.IndexSize), payload...))
		case "many": // a number of records of two events, in 4 goroutines
			n, e := strconv.Atoi(rest)
			if e != nil {
				return e
			}
			var wg sync.WaitGroup
			for g := range 4 {
				wg.Go(func() {
					for i := range n {
						record := binary.NativeEndian.AppendUint64(make([]byte, uevents.IndexSize, 64), uint64(g*n+i))
						_, _ = events[name+strconv.Itoa(i%2)].WriteRecord(append(record, make([]byte, i%40)...)) // lost ones are counted
					}
				})
			}
			wg.Wait()
		case "requests":
			requests, err = structevent.Define[request](p, name, nil)
		case "request":
			requests.Emit(&request{"GET", 200, 65535, -2147483648, 4294967295, -time.Nanosecond, 1<<64 - 1, []uint16{1, 258}, "/users/ü'"})
		case "handler":
			handler, err = sloghandler.New(name, &sloghandler.Options{Provider: p})
		case "info":
			r := slog.NewRecord(time.Unix(1, 5), slog.LevelInfo, rest, 0)
			r.Add("count", 3)
			err = handler.Handle(nil, r) //nolint:staticcheck // there is no context
		}
		if err != nil {
			return fmt.Errorf("%s: %w", lines.Text(), err)
		}
		fmt.Fprintln(out, answer)
	}
	return p.Close()
}

// program is the process of serve.
type program struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(os.Args[0])} //nolint:gosec // this binary
	p.cmd.Env = append(os.Environ(), envProgram+"=1", "GOMAXPROCS=4")
	p.cmd.Stderr = os.Stderr
	var err error
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewReader(out)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { p.kill() })
	return p
}

// do lets the program execute a line, and returns its answer.
func (p *program) do(format string, args ...any) string {
	p.t.Helper()
	_, err := fmt.Fprintf(p.in, format+"\n", args...)
	require.NoError(p.t, err)
	answer, err := p.out.ReadString('\n')
	require.NoError(p.t, err)
	return strings.TrimSpace(answer)
}

func (p *program) end() {
	p.t.Helper()
	require.NoError(p.t, p.in.Close())
	require.NoError(p.t, p.cmd.Wait())
}

func (p *program) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// script is the process of attach.py.
type script struct {
	t           *testing.T
	cmd         *exec.Cmd
	out, errors syncbuffer.Buffer
}

func attach(t *testing.T, p *program, options []string, patterns ...string) *script {
	t.Helper()
	python := testscale.NeedProgram(t, "python3")
	s := &script{t: t}
	s.cmd = exec.Command(python, slices.Concat([]string{attachPy(t)}, options, []string{strconv.Itoa(p.cmd.Process.Pid)}, patterns)...)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.errors
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() { s.signal(syscall.SIGKILL); _ = s.cmd.Wait() })
	attachtest.Await(t, s.cmd.Process.Pid, p.cmd.Process.Pid, func(event string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { ok, _ := path.Match(pattern, event); return ok })
	})
	testscale.Eventually(t, func() bool { return strings.Contains(s.errors.String(), "\n") }, "the script does not say that it has attached")
	require.Equal(t, fmt.Sprintf("attached to %d\n", p.cmd.Process.Pid), s.errors.String())
	return s
}

// attachPy returns the path of the script with the names of files that this test has.
func attachPy(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("attach.py")
	require.NoError(t, err)
	names := strings.NewReplacer("userevents-data", layout.DataName, "userevents-control", layout.ControlName)
	file := filepath.Join(t.TempDir(), "attach.py")
	require.NoError(t, os.WriteFile(file, []byte(names.Replace(string(text))), 0o600))
	return file
}

func (s *script) signal(number syscall.Signal) { _ = s.cmd.Process.Signal(number) }

// wait waits until the script has printed n records.
func (s *script) wait(n int) {
	s.t.Helper()
	testscale.Eventually(s.t, func() bool { return strings.Count(s.out.String(), "\n") >= n }, "the script has printed %q of %d records, %q", &s.out, n, &s.errors)
}

// finish waits for the end of the script, and returns what it printed: records without times, which it checks, and counts.
func (s *script) finish() (records, counts []string) {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Wait(), s.errors.String())
	last := ""
	for line := range strings.Lines(s.out.String()) {
		m := regexp.MustCompile(`^(\d+\.\d{9}) (.*)\n$`).FindStringSubmatch(line)
		require.NotNil(s.t, m, line)
		at := fmt.Sprintf("%30s", m[1])
		require.LessOrEqual(s.t, last, at, "the order")
		last = at
		records = append(records, m[2])
	}
	_, rest, _ := strings.Cut(strings.TrimSpace(s.errors.String()), "\n")
	return records, strings.Split(rest, "\n")
}

// TestAttachRecords compares every record that the script prints.
func TestAttachRecords(t *testing.T) {
	p := start(t)
	p.do("requests attach_request")
	p.do("register attach_relative __rel_loc char[] text; s8 a; s16 b; __data_loc char[] other; u8 last")
	p.do("register unrelated u32 x")
	s := attach(t, p, nil, "attach_*")
	assert.Equal(t, "true", p.do("enabled attach_relative"))
	assert.Equal(t, "false", p.do("enabled unrelated"))

	p.do("request attach_request")
	// text: 8 bytes after its word's end, 4 bytes; other: behind it.
	p.do("write attach_relative %s", "08000400"+"ff"+"feff"+"18000300"+"07"+hex.EncodeToString([]byte("abc\x00\xfc\x1b\x00")))
	s.wait(2)
	p.do("handler attach_late") // registered after the tool attached
	assert.Equal(t, "done", p.do("info attach_late hello"))
	p.do("register attach_none")
	assert.Equal(t, "true", p.do("enabled attach_none"))
	p.do("write attach_none ")
	s.wait(4)
	other := attach(t, p, nil, "attach_none", "unrelated?") // has the same event
	s.signal(syscall.SIGINT)
	records, counts := s.finish()
	assert.Equal(t, []string{
		`attach_request method='GET' small=200 port=65535 signed=-2147483648 status=4294967295 latency_ns=-1 bytes=18446744073709551615 codes='01000201' route="/users/ü'"`,
		`attach_relative text='abc' a=-1 b=-2 other='\\xfc\x1b' last=7`,
		`attach_late_info time_unix_nano=1000000005 level=0 trace_id='' span_id='' truncated=0 duplicate=0 message='hello' source='' attributes='{"count":3}'`,
		`attach_none`,
	}, records)
	assert.Equal(t, []string{
		"attach_request: 1 read, 0 lost",
		"attach_relative: 1 read, 0 lost",
		"attach_late_debug: 0 read, 0 lost",
		"attach_late_info: 1 read, 0 lost",
		"attach_late_warn: 0 read, 0 lost",
		"attach_late_error: 0 read, 0 lost",
		"attach_none: 1 read, 0 lost",
	}, counts)
	assert.Equal(t, "true", p.do("enabled attach_none"), "the other script wants it")
	other.signal(syscall.SIGTERM)
	_, counts = other.finish()
	assert.Equal(t, []string{"attach_none: 0 read, 0 lost"}, counts)
	for _, name := range []string{"attach_relative", "attach_none", "unrelated"} {
		assert.Equal(t, "false", p.do("enabled %s", name), name)
	}
}

// TestAttachLost: of more records than fit, read and lost ones are all that the program wrote, at its end, when the script is
// interrupted, and when the program is killed.
func TestAttachLost(t *testing.T) {
	for name, end := range map[string]func(*program, *script){
		"program ends":       func(p *program, _ *script) { p.end() },
		"memory is closed":   func(p *program, _ *script) { p.do("close") },
		"program is killed":  func(p *program, _ *script) { p.kill() },
		"script is stopped":  func(_ *program, s *script) { s.signal(syscall.SIGTERM) },
		"after many records": func(*program, *script) {},
		"script reads on":    func(p *program, _ *script) { p.end() },
	} {
		t.Run(name, func(t *testing.T) {
			const n = 1000
			p := start(t)
			p.do("register attach_0 u64 seq")
			p.do("register attach_1 u64 seq")
			options := []string{"-s", "4096"}
			if name == "after many records" {
				options = append(options, "-n", "7")
			}
			s := attach(t, p, options, "attach_[0-4]")
			if name != "script reads on" {
				s.signal(syscall.SIGSTOP) // rings fill up
			}
			p.do("many attach_ %d", n)
			end(p, s)
			s.signal(syscall.SIGCONT)
			records, counts := s.finish()
			if name == "after many records" {
				assert.Len(t, records, 7)
				assert.Equal(t, "false", p.do("enabled attach_0"))
				return
			}
			total := 0
			for i, line := range counts {
				var read, lost int
				_, err := fmt.Sscanf(line, "attach_"+strconv.Itoa(i)+": %d read, %d lost", &read, &lost)
				require.NoError(t, err, line)
				assert.Equal(t, 4*n/2, read+lost, line)
				assert.Positive(t, read, line)
				assert.True(t, lost > 0 || name == "script reads on", line)
				total += read
			}
			assert.Len(t, counts, 2)
			assert.Len(t, records, total)
			for _, r := range records {
				assert.Regexp(t, `^attach_[01] seq=\d+$`, r)
			}
		})
	}
}

// TestAttachKilled: the program disables the events of a script that was killed, at the latest when the ring is full.
func TestAttachKilled(t *testing.T) {
	p := start(t)
	p.do("register attach_0 u64 seq")
	p.do("register attach_1 u64 seq")
	s := attach(t, p, []string{"-s", "4096"}, "attach_*")
	s.signal(syscall.SIGKILL)
	_ = s.cmd.Wait()
	assert.Equal(t, "true", p.do("enabled attach_0"))
	testscale.Eventually(t, func() bool {
		p.do("many attach_ 1000")
		return p.do("enabled attach_0") == "false" && p.do("enabled attach_1") == "false"
	}, "events of a tool that was killed stay enabled")

	// The next script takes the session.
	s = attach(t, p, nil, "attach_1")
	p.do("write attach_1 0100000000000000")
	s.wait(1)
	p.end()
	records, counts := s.finish()
	assert.Equal(t, []string{"attach_1 seq=1"}, records)
	assert.Equal(t, []string{"attach_1: 1 read, 0 lost"}, counts)
}

func TestAttachShort(t *testing.T) {
	text, err := os.ReadFile("attach.py")
	require.NoError(t, err)
	assert.LessOrEqual(t, bytes.Count(text, []byte("\n")), 200)
}
