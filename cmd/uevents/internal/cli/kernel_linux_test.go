package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
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
	testscript.RunT(serial{t}, testscript.Params{
		Dir: "testdata/kernel", RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"waitfor": waitFor, "sums": sums, "unused": unused},
		Setup: func(env *testscript.Env) error {
			program, err := exec.LookPath("uevents")
			if err != nil {
				return err
			}
			for _, name := range []string{testscale.EnvVM, kerneltest.EnvHostTests} { // else programs find no user_events
				env.Setenv(name, os.Getenv(name))
			}
			env.Setenv("PROGRAM", program)
			env.Setenv("TRACEFS", dir.Path())
			// The user needs permission to reach the program.
			for d := env.WorkDir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
				if err := os.Chmod(d, 0o755); err != nil {
					return err
				}
			}
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "old":
				return old, nil
			case "hotplug":
				_, err := os.Stat("/sys/devices/system/cpu/cpu1/online")
				return err == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
	})
}

// serial runs scripts one at a time, since they share one kernel.
type serial struct{ *testing.T }

func (serial) Parallel()       {}
func (s serial) Verbose() bool { return testing.Verbose() }

func (s serial) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(serial{t}) })
}

// waitFor waits until a file exists.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	for range 1000 {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("%s is not there after 10 s", args[0])
}

var numbers = regexp.MustCompile(`[\d,]+`)

// sums fails unless the summary on standard error adds up: matched is the sum of all other counts, and not 0.
func sums(ts *testscript.TestScript, _ bool, _ []string) {
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		if !strings.Contains(line, " matched = ") {
			continue
		}
		counts, _, _ := strings.Cut(line, ";")
		sum := -1
		for _, s := range numbers.FindAllString(counts, -1) {
			n, err := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
			ts.Check(err)
			if sum < 0 {
				sum = n
				if n == 0 {
					ts.Fatalf("nothing matched: %s", line)
				}
				continue
			}
			sum -= n
		}
		if sum != 0 {
			ts.Fatalf("%d records are missing: %s", sum, line)
		}
		return
	}
	ts.Fatalf("there is no summary")
}

// unused fails if a tool is attached to an event.
func unused(ts *testscript.TestScript, _ bool, args []string) {
	for line := range strings.Lines(ts.ReadFile(ts.Getenv("TRACEFS") + "/user_events_status")) {
		if strings.Contains(line, args[0]) && strings.Contains(line, "Used by") {
			ts.Fatalf("a tool is attached: %s", line)
		}
	}
}
