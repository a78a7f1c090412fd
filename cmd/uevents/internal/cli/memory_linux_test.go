package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/memory/private"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

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
