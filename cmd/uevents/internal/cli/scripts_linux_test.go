package cli

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/memory/private"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/uevents"
)

// TestKernelScripts: command lines that need a kernel with user_events, as root and as an unprivileged user.
func TestKernelScripts(t *testing.T) {
	dir := kerneltest.RequireTool(t, "setpriv")
	kerneltest.RequireTool(t, "script")
	status, err := dir.Status()
	if err != nil {
		t.Fatal(err)
	}
	old := status.Max > 0 // before Linux 6.4
	c := startBuild(t)
	deadline, _ := t.Deadline()
	testscript.RunT(serial{t}, testscript.Params{
		Deadline: deadline,
		Files:    scripts(t, "kernel", "both"), RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"waitfor": waitFor, "sums": sums, "unused": unused, "built": c.wait, "sysctl": sysctl},
		Setup: func(env *testscript.Env) error {
			program, err := exec.LookPath("uevents")
			if err != nil {
				return err
			}
			for _, name := range []string{testscale.EnvVM, kerneltest.EnvHostTests, private.Env} { // else programs find no user_events
				env.Setenv(name, os.Getenv(name))
			}
			env.Setenv("PROGRAM", program)
			env.Setenv("TRACEFS", dir.Path())
			env.Setenv("GOLDEN", *golden)
			env.Setenv("PATH", c.dir+string(os.PathListSeparator)+env.Getenv("PATH"))
			if err := writeGolden(env.WorkDir + "/golden"); err != nil {
				return err
			}
			return reachable(env.WorkDir)
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "perf":
				return true, nil
			case "old":
				return old, nil
			case "hotplug":
				_, err := os.Stat("/sys/devices/system/cpu/cpu1/online")
				return err == nil, nil
			case "golden":
				return *golden != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
	})
}

// Where kernel tests may not run, the kernel of the other tests has no user_events, whatever that of the machine has and permits.
func init() {
	if !testscale.Guest() && os.Getenv(kerneltest.EnvHostTests) != "1" {
		kernelOnly = &uevents.Options{Transport: uevents.TransportOff}
		findTracefs = func() (*tracefs.Dir, error) { return nil, fs.ErrNotExist }
		transport = reader.TransportMemory
	}
}

// serial runs scripts one at a time, since they share one kernel.
type serial struct{ *testing.T }

func (serial) Parallel()       {}
func (s serial) Verbose() bool { return testing.Verbose() }

func (s serial) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(serial{t}) })
}

var golden = flag.String("eventheaders", "", "EventHeaderInterceptorLE64.dat of LinuxTracepoints (directory TestOutput), beside its .linux.json")

// writeGolden writes the records of the golden file, as headerProgram reads them.
func writeGolden(path string) error {
	if *golden == "" {
		return nil
	}
	records, err := os.ReadFile(*golden)
	if err != nil {
		return err
	}
	var lines []byte
	for len(records) > 0 { // a record is its size, that of the size included, the tracepoint's name, a NUL, and the payload
		size := binary.LittleEndian.Uint32(records)
		name, payload, _ := bytes.Cut(records[4:size], []byte{0})
		lines = fmt.Appendf(lines, "%s %x\n", name, payload)
		records = records[size:]
	}
	return os.WriteFile(path, lines, 0o600)
}

// cBuild builds the program in C, meanwhile other scripts run: a guest takes long to load a compiler.
type cBuild struct {
	dir  string // of the program
	done chan error
}

func startBuild(t *testing.T) *cBuild {
	t.Helper()
	b := &cBuild{t.TempDir(), make(chan error, 1)}
	if _, err := exec.LookPath("cc"); err != nil {
		return b // its script is skipped
	}
	t.Cleanup(func() { // before its directory is removed
		if err := <-b.done; err != nil {
			t.Error(err)
		}
	})
	go func() {
		// Stacks are followed by frame pointers.
		out, err := exec.Command("cc", "-Wall", "-Wextra", "-Werror", "-O1", "-fno-omit-frame-pointer",
			"-o", filepath.Join(b.dir, "cprogram"), "testdata/cprogram/main.c").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("building testdata/cprogram: %w\n%s", err, out)
		}
		b.done <- err
	}()
	return b
}

// wait waits until the program is built.
func (b *cBuild) wait(ts *testscript.TestScript, _ bool, _ []string) {
	err := <-b.done
	b.done <- err
	ts.Check(err)
}

// sysctl sets a kernel setting until the script has ended.
func sysctl(ts *testscript.TestScript, _ bool, args []string) {
	file := "/proc/sys/kernel/" + args[0]
	before := ts.ReadFile(file)
	ts.Check(os.WriteFile(file, []byte(args[1]), 0))
	ts.Defer(func() { _ = os.WriteFile(file, []byte(before), 0) })
}

// unused waits until no tool is attached to the events whose status contains the argument: the kernel closes what a killed tool
// had open after the tool has ended.
func unused(ts *testscript.TestScript, _ bool, args []string) {
	attached := ""
	if !testscale.Wait(func() bool {
		attached = ""
		for line := range strings.Lines(ts.ReadFile(ts.Getenv("TRACEFS") + "/user_events_status")) {
			if strings.Contains(line, args[0]) && strings.Contains(line, "Used by") {
				attached = line
			}
		}
		return attached == ""
	}) {
		ts.Fatalf("a tool is attached: %s", attached)
	}
}

// TestMemoryScripts: command lines that read programs which offer events in shared memory.
func TestMemoryScripts(t *testing.T) {
	testscale.HostOnly(t)
	memoryScripts(t, "memory", "both")
}

// TestUserScripts: the same as several users, of which one is root, with and without a capability.
func TestUserScripts(t *testing.T) {
	testscale.NeedRoot(t, "to run tools and programs of other users")
	memoryScripts(t, "users")
}

func memoryScripts(t *testing.T, dirs ...string) {
	t.Helper()
	program, err := exec.LookPath("uevents")
	if err != nil {
		t.Fatal(err)
	}
	deadline, _ := t.Deadline()
	testscript.RunT(serial{t}, testscript.Params{ // a program has room for 8 tools
		Deadline: deadline,
		Files:    scripts(t, dirs...), RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"waitfor": waitFor, "sums": sums},
		Setup: func(env *testscript.Env) error {
			env.Setenv(uevents.EnvTransport, uevents.TransportMemory.String()) // of programs, wherever the test runs
			env.Setenv(private.Env, os.Getenv(private.Env))
			env.Setenv("PROGRAM", program)
			env.Setenv("NAME", fmt.Sprintf("script_%d", os.Getpid())) // of programs: others may run, too
			return errors.Join(reachable(env.WorkDir), os.CopyFS(env.WorkDir+"/tracefs", os.DirFS("testdata/tracefs")))
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "perf":
				return exec.Command("perf", "version").Run() == nil, nil // Ubuntu's says which package is missing
			case "initial": // PID namespace
				return sys.InitialNamespace("pid"), nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
	})
}

// reachable lets other users reach a directory.
func reachable(dir string) error {
	for ; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// waitFor waits until a file exists, and with a second argument until a line of it matches that regular expression.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile("(?m)" + strings.Join(args[1:], ""))
	var content []byte
	if !testscale.Wait(func() bool {
		var err error
		content, err = readNow(ts.MkAbs(args[0]))
		return err == nil && pattern.Match(content)
	}) {
		ts.Fatalf("%s is not as expected:\n%s", args[0], content)
	}
}

// readNow reads what a file has now, up to 64 MiB: a program may write to it faster than it can be read to its end.
func readNow(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, min(st.Size(), 64<<20)))
}

// sums fails unless the summary on standard error, or in the files of its arguments, adds up: matched is the sum of all
// other counts, and not 0, and losses were reported at most once a second, all of them.
func sums(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		args = []string{"stderr"}
	}
	for _, file := range args {
		sumsOf(ts, ts.ReadFile(file))
	}
}

func sumsOf(ts *testscript.TestScript, said string) {
	s, err := summaryOf(said)
	ts.Check(err)
	reported, reports := 0, 0
	for _, notice := range lossNotice.FindAllStringSubmatch(said, -1) {
		for _, event := range lossOfEvent.FindAllStringSubmatch(notice[1], -1) {
			n, err := countOf(event[1])
			ts.Check(err)
			reported += n
		}
		reports++
	}
	sum := 0
	for _, n := range s.parts {
		sum += n
	}
	switch {
	case sum == 0:
		ts.Fatalf("nothing matched: %s", s.line)
	case sum != s.matched:
		ts.Fatalf("%d records are missing: %s", s.matched-sum, s.line)
	case reported != s.parts["lost"]:
		ts.Fatalf("%d losses were reported in notices: %s", reported, s.line)
	case s.seconds > 0 && float64(reports) > s.seconds+1:
		ts.Fatalf("%d notices of losses: %s", reports, s.line)
	}
}

var (
	lossNotice  = regexp.MustCompile(`(?m)^! (\d.*) lost \(ring full\)`)
	lossOfEvent = regexp.MustCompile(`(?:^|, | and )(\d[\d,]*) (?:records|of)`)
)

// TestNotListed: a list without the kernel's events says why, and what to do.
func TestNotListed(t *testing.T) {
	for want, err := range map[string]error{
		"": nil, "!": uevents.ErrNotSupported,
		"! the kernel's events are not listed: permission denied\n  -> files of tracefs belong to root: run it as root, or let a group read them: sudo uevents setup GROUP --apply\n": fs.ErrPermission,
	} {
		var errs strings.Builder
		new(feed).env(t, io.Discard, &errs).sayNotListed(err)
		assert.Equal(t, strings.TrimSuffix(want, "!"), errs.String())
	}
}

// summaryLine is the last line of a command that reads records.
type summaryLine struct {
	line    string
	matched int
	parts   map[string]int // what became of the records, such as shown or lost
	seconds float64        // how long the command ran, 0 if it does not say
}

// summaryOf parses what a command said on standard error.
func summaryOf(said string) (s summaryLine, err error) {
	for line := range strings.Lines(said) {
		counts, rest, ends := strings.Cut(line, "; ")
		matched, parts, found := strings.Cut(counts, " matched = ")
		if !ends || !found {
			continue
		}
		s = summaryLine{line: line, parts: map[string]int{}}
		if s.matched, err = countOf(matched); err != nil {
			return s, err
		}
		for part := range strings.SplitSeq(parts, " + ") {
			n, what, _ := strings.Cut(part, " ")
			if s.parts[what], err = countOf(n); err != nil {
				return s, err
			}
		}
		seconds, _, _ := strings.Cut(rest, " ")
		s.seconds, _ = strconv.ParseFloat(seconds, 64) // flight does not say it
		return s, nil
	}
	return s, fmt.Errorf("there is no summary in %q", said)
}

// countOf parses a number with commas.
func countOf(s string) (int, error) { return strconv.Atoi(strings.ReplaceAll(s, ",", "")) }
