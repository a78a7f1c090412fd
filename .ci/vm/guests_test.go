package main

import (
	"flag"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var guests = flag.Bool("guests", false, "boot guests, good ones and bad ones")

// runner builds the runner and returns a function that runs it from the root of
// the repository, and returns what it printed and whether it succeeded.
func runner(t *testing.T) func(args ...string) (output string, ok bool) {
	t.Helper()
	if !*guests {
		t.Skip("boots guests: run it with -guests (make vm-selftest)")
	}
	binary := filepath.Join(t.TempDir(), "vm")
	build, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", build)
	return func(args ...string) (string, bool) {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir = filepath.Join("..", "..")
		out, err := cmd.CombinedOutput()
		return string(out), err == nil
	}
}

func TestGuests(t *testing.T) {
	run := runner(t)
	// The start of a console log, which is shown when the guest is to blame.
	const console = "Linux version"
	tests := []struct {
		name   string
		run    string   // names of tests
		flags  []string // of the runner
		ok     bool
		want   []string
		absent []string
	}{
		{
			name: "success",
			run:  "TestMachine|TestHostTools|TestAllowedSkip",
			ok:   true,
			want: []string{
				"=== RUN   TestMachine", "--- PASS: TestHostTools", "--- SKIP: TestAllowedSkip",
				"ok  \tgithub.com/", "2 tests passed, 1 not on this kernel",
			},
			absent: []string{console},
		},
		{
			name:  "more for the command line",
			run:   "TestLockdown",
			flags: []string{"-append", "lsm=lockdown,apparmor lockdown=confidentiality"},
			ok:    true,
			want:  []string{"--- PASS: TestLockdown"},
		},
		{
			name:   "a test fails",
			run:    "TestFail|TestAllowedSkip",
			want:   []string{"guest_test.go", "as it should", "--- FAIL: TestFail", "FAIL: github.com/"},
			absent: []string{console},
		},
		{
			name:   "a test skips",
			run:    "TestAllowedSkip|TestFail|TestSkip",
			want:   []string{"FAIL: TestSkip (no reason that counts)"},
			absent: []string{"FAIL: TestAllowedSkip"},
		},
		{
			name: "no test runs",
			run:  "TestNone",
			want: []string{"FAIL: no test ran", console},
		},
		{
			name: "a test exits early",
			run:  "TestExit",
			want: []string{"unexpected call to os.Exit(0)"},
		},
		{
			name:  "a test hangs",
			run:   "TestSleep",
			flags: []string{"-silence", "5s"},
			want:  []string{"=== RUN   TestSleep", "SIGQUIT: quit", "time.Sleep", "hung: printed nothing for too long (exit status 2)"},
		},
		{
			name:  "a test hangs and ignores signals",
			run:   "TestDeaf",
			flags: []string{"-silence", "5s"},
			want:  []string{"hung: printed nothing for too long (signal: killed)"},
		},
		{
			name:  "the guest hangs",
			run:   "TestMute",
			flags: []string{"-silence", "5s"},
			want:  []string{"=== RUN   TestMute", "the guest hung: it printed nothing for 5s", console},
		},
		{
			name:  "the guest takes too long",
			run:   "TestSleep",
			flags: []string{"-timeout", "6s"},
			want:  []string{"the guest was not done after 6s", console},
		},
		{
			name: "the guest panics",
			run:  "TestPanic",
			want: []string{"=== RUN   TestPanic", "FAIL: ", "Kernel panic - not syncing: sysrq triggered crash", console},
		},
		{
			name: "the kernel complains",
			run:  "TestComplaint",
			want: []string{"--- PASS: TestComplaint", "WARNING: from a test", console},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // most of them wait most of the time
			args := append([]string{"test"}, test.flags...)
			out, ok := run(append(args, "./.ci/vm/testdata/guest", "--", "-test.run=^("+test.run+")$")...)
			assert.Equal(t, test.ok, ok)
			for _, want := range test.want {
				assert.Contains(t, out, want)
			}
			for _, absent := range test.absent {
				assert.NotContains(t, out, absent)
			}
			if t.Failed() {
				t.Logf("the runner printed:\n%s", out)
			}
		})
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
		out, ok := run("bench", "./.ci/vm/testdata/guest", "--", "-test.count="+strconv.Itoa(count))
		require.True(t, ok, "%s", out)
		assert.Contains(t, out, "14 benchmarks")
		figures := map[string][]string{}
		for _, match := range figure.FindAllStringSubmatch(out, -1) {
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
	out, ok := runner(t)("time", "./.ci/vm/testdata/guest", "--", "-test.bench=Getppid")
	require.True(t, ok, "%s", out)
	assert.Contains(t, out, "1 benchmarks")
	assert.NotContains(t, out, "(icount)")
}
