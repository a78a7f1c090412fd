package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

var guests = flag.Bool("guests", false, "boot guests, good ones and bad ones")

// runner builds the runner and returns a function that returns a call of it, from the root of the repository.
func runner(t *testing.T) func(args ...string) *exec.Cmd {
	t.Helper()
	if !*guests {
		t.Skip("boots guests: run it with -guests (make vm-selftest)")
	}
	binary := filepath.Join(t.TempDir(), "vm")
	build, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", build)
	return func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir = filepath.Join("..", "..")
		cmd.Env = append(os.Environ(), "USEREVENTS_SUMMARY=") // its results are not those of this run
		return cmd
	}
}

// A kernel of machines, and one that is a program of the host.
const machines, programs = "6.12", "6.12-uml"

func TestGuests(t *testing.T) {
	run := runner(t)
	// The start of a console log, which is shown when the guest is to blame.
	const console = "Linux version"
	tests := []struct {
		name   string
		only   string   // kernel, of a test that another one cannot have
		run    string   // names of tests
		flags  []string // of the runner
		more   []string // of go test
		ok     bool
		want   []string
		absent []string
	}{
		{
			name: "success",
			run:  "TestMachine|TestHostTools|TestAllowedSkip",
			ok:   true,
			want: []string{
				"ok  \tgithub.com/", "2 tests passed, 1 of them used the kernel; 1 skipped",
				"#      1 skipped: not on this kernel: it is too good\n",
			},
			absent: []string{console},
		},
		{
			name:  "more for the command line",
			only:  machines,
			run:   "TestLockdown",
			flags: []string{"-append", "lsm=lockdown,apparmor lockdown=confidentiality"},
			ok:    true,
			want:  []string{"1 tests passed"},
		},
		{
			name:   "a test fails",
			run:    "TestFail|TestAllowedSkip",
			want:   []string{"guest_test.go", "as it should", "--- FAIL: TestFail", "guest TestFail failed"},
			absent: []string{console},
		},
		{
			name:   "a test skips",
			run:    "TestAllowedSkip|TestFail|TestSkip",
			want:   []string{"guest TestSkip skipped (no reason that counts)"},
			absent: []string{"TestAllowedSkip skipped"},
		},
		{
			name: "no test runs",
			run:  "TestNone",
			want: []string{"FAIL: no test ran"},
		},
		{
			name: "no kernel test runs",
			run:  "TestHostTools",
			want: []string{"1 tests passed", "FAIL: no kernel test ran"},
		},
		{
			name:  "too few kernel tests run",
			run:   "TestMachine",
			flags: []string{"-minimum", "2"},
			want:  []string{"FAIL: 1 kernel tests ran, at least 2 have to"},
		},
		{
			name:  "a host that stays as it is",
			run:   "TestMachine|TestQuiet",
			flags: []string{"-as-host"},
			ok:    true,
			want:  []string{"as a host: 1 tests passed, 0 of them used the kernel; 1 skipped", "skipped: only in a guest: "},
		},
		{
			name:  "a host that is changed",
			run:   "TestMachine|TestChange",
			flags: []string{"-as-host"},
			want: []string{
				"+ /sys/kernel/tracing/dynamic_events:u:left_behind",
				"+ /sys/kernel/tracing/events/user_events/left_behind/enable: -rw-r-----",
				"- /sys/kernel/tracing: drwx------ 0:0", "+ /sys/kernel/tracing: drwxr-x--- 0:0", "+ /sys/kernel/tracing/README: -r--r----- 0:65534",
				"+ /sys/kernel/tracing/instances/left_behind: d", "+ /proc/sys/kernel/panic:-2",
			},
		},
		{
			name: "a test exits early",
			run:  "TestExit",
			want: []string{"unexpected call to os.Exit(0)"},
		},
		{
			name:  "a test hangs",
			run:   "TestSleep",
			flags: []string{"-silence", "20s"},
			want:  []string{"=== RUN   TestSleep", "SIGQUIT: quit", "time.Sleep", "the test hung: it printed nothing for 20s (exit status 2)"},
		},
		{
			name:  "a test hangs and ignores signals",
			run:   "TestDeaf",
			flags: []string{"-silence", "20s"},
			want:  []string{"the test hung: it printed nothing for 20s (exit status 137)"},
		},
		{
			name:  "the guest hangs",
			run:   "TestMute",
			flags: []string{"-silence", "20s"},
			want:  []string{"=== RUN   TestMute", "the guest hung: it printed nothing for 20s", console},
		},
		{
			name: "the guest takes too long",
			run:  "TestDeaf",
			more: []string{"-timeout=6s"},
			want: []string{"panic: test timed out after 6s"},
		},
		{
			name: "the guest panics",
			only: machines,
			run:  "TestPanic",
			want: []string{"=== RUN   TestPanic", "FAIL: ", "Kernel panic - not syncing: sysrq triggered crash", console},
		},
		{
			name: "a guest that is kept",
			run:  "TestLeaveBehind|TestNext",
			more: []string{"./.ci/vm/testdata/next"},
			ok:   true,
			want: []string{"2 tests passed, 2 of them used the kernel"},
		},
		{
			name:  "a guest after one that failed",
			run:   "TestMute|TestNext",
			flags: []string{"-silence", "20s"},
			more:  []string{"./.ci/vm/testdata/next"},
			want:  []string{"the guest hung: it printed nothing for 20s", "1 tests passed"},
		},
		{
			name: "the kernel complains",
			run:  "TestComplaint",
			want: []string{"1 tests passed", "WARNING: from a test", console},
		},
	}
	for _, kernel := range []string{machines, programs} {
		for _, test := range tests {
			if test.only != "" && test.only != kernel {
				continue
			}
			t.Run(kernel+"/"+test.name, func(t *testing.T) {
				t.Parallel() // most of them wait most of the time
				args := append([]string{"test", "-kernel", kernel, "-guests", "1"}, test.flags...)
				args = append(args, "./.ci/vm/testdata/guest")
				args = append(args, test.more...)
				out, err := run(append(args, "-run=^("+test.run+")$")...).CombinedOutput()
				assert.Equal(t, test.ok, err == nil)
				for _, want := range test.want {
					assert.Contains(t, string(out), want)
				}
				for _, absent := range test.absent {
					assert.NotContains(t, string(out), absent)
				}
				if t.Failed() {
					t.Logf("the runner printed:\n%s", out)
				}
			})
		}
	}
}

// Under -icount a figure is a count of instructions, and what is random or depends on the host
// elsewhere is the same in every guest: all runs count the same. Within a guest, those that a
// tick of the kernel's clock falls into count more.
func TestGuestCounts(t *testing.T) {
	run := runner(t)
	const count = 7
	figure := regexp.MustCompile(`(?m)^Benchmark(Getppid|Random)\s+\d+\s+(.*)$`)
	counts := func() map[string][]string {
		out, err := run("bench", "-accel", "icount", "./.ci/vm/testdata/guest", "-count="+strconv.Itoa(count)).CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), "14 benchmarks")
		figures := map[string][]string{}
		for _, match := range figure.FindAllStringSubmatch(string(out), -1) {
			figures[match[1]] = append(figures[match[1]], match[2])
		}
		require.Len(t, figures["Getppid"], count, "%s", out)
		return figures
	}
	first := counts()
	assert.Equal(t, first, counts())
	slices.Sort(first["Getppid"])
	assert.Equal(t, first["Getppid"][0], first["Getppid"][count/2], "most runs count the same: %v", first)
}

// In time, a figure is whatever the machine makes of it.
func TestGuestTimes(t *testing.T) {
	out, err := runner(t)("bench", "./.ci/vm/testdata/guest", "-bench=Getppid").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "1 benchmarks")
}

// A shell runs what it is told, and its end is that of the machine.
func TestGuestShell(t *testing.T) {
	run := runner(t)
	for _, kernel := range []string{machines, programs} {
		t.Run(kernel, func(t *testing.T) {
			cmd := run("shell", "-kernel", kernel)
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			done := make(chan error, 1)
			var out []byte
			go func() {
				out, err = cmd.CombinedOutput()
				done <- err
			}()
			// A terminal loses what comes before the shell has opened it.
			testscale.Eventually(t, func() bool {
				_, _ = in.Write([]byte("echo on-$USEREVENTS_KERNEL; exit\n")) // it may have ended
				return len(done) > 0
			}, "the shell does not end")
			require.NoError(t, <-done, "%s", out)
			assert.Contains(t, string(out), "on-"+kernel)
		})
	}
}

func TestFollow(t *testing.T) {
	const mark = "\x00NONCE"
	for _, c := range []struct {
		name    string
		stream  string
		hangs   bool // instead of hanging up
		printed string
		status  int
		failure string
		asked   int // to stop
	}{
		{name: "success", stream: "a\nPASS\n" + mark + "0\n", printed: "a\nPASS\n"},
		{name: "failure", stream: "FAIL" + mark + "2\n", printed: "FAIL", status: 2},
		{name: "NULs in output", stream: "a\x00\x00NONSENSE\x00NONC\n\x00" + mark + "0\n", printed: "a\x00\x00NONSENSE\x00NONC\n\x00"},
		{name: "death", stream: "half a l", printed: "half a l", failure: "the guest stopped before its work was done"},
		{name: "death within the status", stream: "x" + mark + "1", printed: "x", failure: "the guest stopped before its work was done"},
		{name: "hang", stream: "x", hangs: true, printed: "x", asked: 2, failure: "the guest hung: it printed nothing for 20ms and did not stop its tests"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, w := io.Pipe()
			defer func() { _ = r.Close() }()
			var requests, out bytes.Buffer
			g := guest{mark: []byte(mark), requests: &requests, chunks: make(chan []byte)}
			var silence time.Duration
			if c.hangs {
				silence = 20 * time.Millisecond
			}
			go g.read(iotest.OneByteReader(r))
			go func() {
				_, _ = w.Write([]byte(c.stream))
				if !c.hangs {
					_ = w.Close()
				}
			}()
			end, err := g.follow(silence, &out)
			require.NoError(t, err, c.name)
			assert.Equal(t, c.printed, out.String(), c.name)
			assert.Equal(t, c.status, end.status, c.name)
			assert.Equal(t, c.failure, end.failure, c.name)
			assert.Equal(t, c.asked, strings.Count(requests.String(), "{\"Args\":null,"), c.name)
		})
	}
}

// A test that ends once it was asked to has hung all the same.
func TestFollowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		defer func() { _ = r.Close() }()
		asked, request := io.Pipe()
		g := guest{mark: []byte("\x00N"), requests: request, chunks: make(chan []byte)}
		go g.read(r)
		go func() {
			_, _ = asked.Read(make([]byte, 99))
			_, _ = w.Write([]byte("SIGQUIT: quit\n\x00N2\n"))
		}()
		var out bytes.Buffer
		end, err := g.follow(time.Minute, &out)
		require.NoError(t, err)
		assert.Equal(t, "SIGQUIT: quit\n", out.String())
		assert.Equal(t, "the test hung: it printed nothing for 1m0s (exit status 2)", end.failure)
	})
}

// A machine that does not start is a problem of every test binary.
func TestNoMachine(t *testing.T) {
	r := newReport(io.Discard, &suite{machine: machine{kernel: "6.12-uml"}})
	w := worker{suite: &suite{machine: machine{kernel: "6.12-uml", image: "/nonexistent", init: "/x", dir: t.TempDir()}}, report: r}
	w.run(program{pkg: "p"})
	w.run(program{pkg: "q"})
	w.drop()
	for i, pkg := range []string{"p", "q"} {
		assert.Contains(t, r.problems[i], pkg+": start nonexistent: fork/exec /nonexistent: no such file or directory")
	}
}
