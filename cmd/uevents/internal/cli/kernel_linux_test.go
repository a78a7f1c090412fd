package cli

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/memory/private"
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
