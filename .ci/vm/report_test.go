package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// skips matches the lines of a summary with the reasons of skips.
var skips = regexp.MustCompile(`(?m)^#  +\d+ skipped: .*\n`)

// events are lines of go test -json about package p: "run TestA", "output TestA text".
func events(lines ...string) (list []string) {
	for _, line := range lines {
		words := strings.SplitN(line, " ", 3)
		test := ""
		if len(words) > 1 {
			test = words[1]
		}
		e := fmt.Sprintf(`{"Action":%q,"Package":"p","Test":%q`, words[0], test)
		if len(words) > 2 {
			e += fmt.Sprintf(`,"Output":%q`, words[2]+"\n")
		}
		if words[0] == "attr" {
			e += `,"Key":"kernel","Value":"used"`
		}
		list = append(list, e+"}")
	}
	return list
}

func TestReport(t *testing.T) {
	pass := []string{"run TestK", "attr TestK", "pass TestK"}
	for _, c := range []struct {
		name                   string
		kernel                 string
		asHost, race, complete bool
		events                 []string
		want                   []string
		absent                 []string
		ok                     bool
	}{
		{
			name: "success", kernel: "6.12", ok: true,
			events: append(pass, "run TestA", "output TestA === RUN   TestA", "pass TestA", "pass"),
			want:   []string{"# kernel 6.12: 2 tests passed, 1 of them used the kernel; 0 skipped"}, absent: []string{"=== RUN"},
		},
		{name: "nothing", kernel: "6.12", want: []string{"FAIL: no test ran"}},
		{name: "nothing here", want: []string{"# this machine: FAIL: no test ran"}},
		{name: "no kernel test", kernel: "6.12", events: []string{"run TestA", "pass TestA"}, want: []string{"FAIL: no kernel test ran"}},
		{name: "a kernel test that skips", kernel: "6.12", events: []string{
			"run TestA", "pass TestA", "run TestK", "attr TestK", "output TestK     a_test.go:9: not on this kernel: too old", "skip TestK",
		}, want: []string{"FAIL: no kernel test ran", "1 skipped: not on this kernel: too old"}},
		{
			name: "failure", kernel: "6.12",
			events: append(pass, "run TestA", "output TestA     a_test.go:9: boom", "output TestA --- FAIL: TestA (0.00s)", "fail TestA", "fail"),
			want: []string{
				"a_test.go:9: boom\n--- FAIL: TestA",
				"FAIL: p TestA failed\n#   a_test.go:9: boom\n#   alone: make vm-test KERNEL=6.12 PKG=./p RUN='-run=^TestA$$'\n",
				"# kernel 6.12: 1 tests passed, 1 failed, 1 of them used the kernel; 0 skipped",
			},
		},
		{
			name: "failures alone", kernel: "6.12",
			events: []string{"run TestA", "attr TestA", "output TestA     a_test.go:9: boom", "fail TestA", "run TestB", "attr TestB", "output TestB half", "fail"},
			want:   []string{"# kernel 6.12: 0 tests passed, 2 failed, 2 of them used the kernel; 0 skipped", "p TestA failed", "p TestB did not end"},
			absent: []string{"test ran"},
		},
		{
			name: "a failure without the kernel", kernel: "6.12", events: []string{"run TestA", "fail TestA", "fail"},
			want: []string{"FAIL: no kernel test ran: none that called kerneltest.Require"}, absent: []string{"no test ran"},
		},
		{
			name: "a panic after many lines",
			events: []string{
				"run TestA", "output TestA     a_test.go:1: one", "output TestA     a_test.go:2: two", "output TestA     a_test.go:3: three",
				"output TestA     a_test.go:4: four", "output TestA     a_test.go:5: five", "output TestA     a_test.go:6: six",
				"output TestA --- FAIL: TestA (0.00s)", "output TestA panic: boom [recovered, repanicked]", "output TestA ", "output TestA goroutine 7 [running]:",
				"output TestA panic({0x1, 0x2})", "output TestA \t/usr/lib/go/panic.go:1", "output TestA p.TestA(0x1)", "fail TestA", "fail",
			},
			want: []string{"FAIL: p TestA failed\n#   panic: boom [recovered, repanicked]\n#   goroutine 7 [running]:\n#   panic({0x1, 0x2})\n#   p.TestA(0x1)\n#   alone"},
		},
		{
			name:   "a package that does not compile",
			events: []string{"pass TestA", "pass", "build-output  # p", "build-output  a.go:1: undefined: x", "build-fail", "output  FAIL\tp [build failed]", "fail"},
			want:   []string{"FAIL: p failed\n#   # p\n#   a.go:1: undefined: x\n"},
		},
		{
			name: "benchmarks", kernel: "6.12", ok: true,
			events: []string{
				"run BenchmarkA", "attr BenchmarkA", "output BenchmarkA BenchmarkA", "output BenchmarkA BenchmarkA-2 \t 1\t 381.0 ns/op",
				"run BenchmarkB", "run BenchmarkB/b", "output BenchmarkB/b BenchmarkB/b-2 \t 1\t 7 lost-records", "pass",
			},
			want: []string{"2 tests passed, 1 of them used the kernel"},
		},
		{
			name: "a benchmark fails", kernel: "6.12",
			events: append(pass, "run BenchmarkA", "run BenchmarkA/a", "output BenchmarkA BenchmarkA", "output BenchmarkA/a BenchmarkA/a \t 1\t 381.0 ns/op",
				"run BenchmarkB", "output BenchmarkB     b_test.go:9: boom", "fail BenchmarkB", "run BenchmarkC", "output BenchmarkC BenchmarkC", "fail"),
			want: []string{
				"FAIL: p BenchmarkB failed\n#   b_test.go:9: boom\n#   alone: make vm-test KERNEL=6.12 PKG=./p RUN='-run=^$$ -benchtime=1x -bench=^BenchmarkB$$'\n",
				"FAIL: p BenchmarkC did not end",
			},
			absent: []string{"BenchmarkA did not end", "BenchmarkA/a did not end"},
		},
		{
			name: "a subtest fails", ok: false,
			events: []string{
				"run TestA", "run TestA/b", "output TestA/b     a_test.go:9: boom", "output TestA/b     --- FAIL: TestA/b (0.00s)", "fail TestA/b",
				"output TestA --- FAIL: TestA (0.00s)", "fail TestA", "fail",
			},
			want:   []string{"FAIL: p TestA/b failed\n#   a_test.go:9: boom\n#   alone: go test ./p -run='^TestA$/^b$'\n"},
			absent: []string{"p TestA failed"},
		},
		{
			name: "a binary that dies", kernel: "6.12",
			events: append(pass, "run TestA", "output TestA === RUN   TestA", "output TestA half a l", "fail"),
			want:   []string{"half a l\n", "FAIL: p TestA did not end"},
		},
		{
			name: "skip without a reason that counts", kernel: "6.12",
			events: append(pass, "run TestA", "output TestA     a_test.go:9: it is late", "skip TestA"),
			want:   []string{"FAIL: p TestA skipped (it is late)"},
		},
		{
			name: "a program is missing", ok: true, events: []string{"pass TestB", "output TestA     a_test.go:9: needs strace: x", "skip TestA"},
			want: []string{"1 skipped: needs strace: x"},
		},
		{
			name: "a program is missing where all must be there", complete: true,
			events: []string{"pass TestB", "output TestA     a_test.go:9: needs strace: x", "skip TestA"}, want: []string{"FAIL: p TestA skipped (needs strace: x)"},
		},
		{
			name: "an ordinary user", complete: true, ok: true, events: []string{"pass TestB", "output TestA     a_test.go:9: needs root: x", "skip TestA"},
			want: []string{"1 skipped: needs root: x"},
		},
		{
			name: "a guest where all must be there", kernel: "6.12", complete: true,
			events: append(pass, "output TestA     a_test.go:9: needs root: x", "skip TestA"), want: []string{"FAIL: p TestA skipped (needs root: x)"},
		},
		{
			name: "skip without a reason", kernel: "6.12",
			events: append(pass, "run TestA", "output TestA not on this kernel: printed by anyone", "skip TestA"),
			want:   []string{"FAIL: p TestA skipped (no reason)"},
		},
		{
			name: "a cleanup that logs after the skip", kernel: "6.12", ok: true,
			events: append(pass, "output TestA     a_test.go:9: not on this kernel: too old", "output TestA     a_test.go:5: cleaned up", "skip TestA"),
			want:   []string{"1 skipped: not on this kernel: too old"},
		},
		{
			name: "a guest skips what needs a guest", kernel: "6.12",
			events: append(pass, "output TestA     a_test.go:9: only in a guest: x", "skip TestA"), want: []string{"FAIL: p TestA skipped"},
		},
		{
			name: "this machine skips what needs a guest", ok: true,
			events: []string{"pass TestB", "output TestA     a_test.go:9: only in a guest: x", "skip TestA"}, want: []string{"1 skipped: only in a guest: x"},
		},
		{
			name: "simulated kernels", ok: true,
			events: []string{"pass TestB", "output TestA     a_test.go:9: not on this kernel: x", "skip TestA", "output TestC     a_test.go:9: not on this kernel: y", "skip TestC"},
			want:   []string{"2 skipped: only on another kind of simulated kernel"},
		},
		{
			name: "the kernel of this machine", ok: true, absent: []string{"simulated"},
			events: append(pass, "output TestC     a_test.go:9: not on this kernel: x", "skip TestC"), want: []string{"1 skipped: not on this kernel: x"},
		},
		{
			name: "the race detector", race: true, ok: true,
			events: []string{"pass TestB", "output TestA     a_test.go:9: not under the race detector: x", "skip TestA"},
		},
		{
			name:   "without the race detector",
			events: []string{"pass TestB", "output TestA     a_test.go:9: not under the race detector: x", "skip TestA"}, want: []string{"FAIL: p TestA skipped"},
		},
		{
			name: "as a host", kernel: "6.12", asHost: true, ok: true,
			events: []string{"pass TestB", "output TestA     a_test.go:9: only in a guest: x", "skip TestA"}, want: []string{"# kernel 6.12 as a host: 1 tests passed"},
		},
		{name: "as a host with a kernel test", kernel: "6.12", asHost: true, events: pass, want: []string{"FAIL: 1 kernel tests ran on what they take for a host"}},
		{name: "as a host without kernel tests", kernel: "6.12", asHost: true, events: []string{"pass TestB"}, want: []string{"FAIL: no kernel test was there to be skipped"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			summary := filepath.Join(t.TempDir(), "summary")
			t.Setenv("USEREVENTS_SUMMARY", summary)
			var out strings.Builder
			s := suite{machine: machine{kernel: c.kernel}, asHost: c.asHost, needed: c.complete}
			if c.race {
				s.args = []string{"-race"}
			}
			r := newReport(&out, &s)
			require.NoError(t, r.read(strings.NewReader(strings.Join(events(c.events...), "\n"))))
			err := r.verdict(0)
			kept, readErr := os.ReadFile(summary)
			require.NoError(t, readErr)
			said := out.String() + string(kept)
			if c.ok {
				assert.NoError(t, err, said)
				assert.NotContains(t, said, "FAIL")
			} else {
				assert.Error(t, err)
			}
			for _, want := range c.want {
				assert.Contains(t, said, want)
			}
			for _, absent := range c.absent {
				assert.NotContains(t, said, absent)
			}
			atOnce := skips.ReplaceAllString(string(kept), "")
			assert.True(t, strings.HasSuffix(out.String(), atOnce) && atOnce != "", "all but the reasons of skips: %s", said)
		})
	}
	assert.ErrorContains(t, newReport(nil, &suite{}).read(strings.NewReader("FAIL p [setup failed]")), "FAIL p")
}

// A guest reports the end of a test binary by itself.
func TestEnded(t *testing.T) {
	var out strings.Builder
	r := newReport(&out, &suite{machine: machine{kernel: "6.12"}})
	require.NoError(t, r.read(strings.NewReader(strings.Join(events("pass TestA", "fail TestB"), "\n"))))
	r.problems = nil
	r.ended("q", 0, nil, time.Second)
	assert.Empty(t, r.problems)
	r.ended("p", 1, nil, time.Second)
	assert.Empty(t, r.problems, "TestB has failed")
	r.ended("q", 2, nil, time.Second)
	require.NoError(t, r.read(strings.NewReader(strings.Join(events("run TestC", "output TestC     c_test.go:1: half"), "\n"))))
	r.ended("p", 2, nil, time.Second)
	assert.Contains(t, r.problems[1], "p TestC did not end\n#   c_test.go:1: half\n")
	r.problems = r.problems[:1]
	r.ended("q", 1, []string{"Oops: x"}, time.Second)
	assert.Equal(t, []string{"q: exit status 2", "q: Oops: x"}, r.problems)
	assert.Contains(t, out.String(), "ok  \tq\t1.0s\nFAIL\tp\t1.0s\n")
}

// The tests that need a guest are those that were skipped for that, or have a subtest that was.
func TestNeedGuest(t *testing.T) {
	r := newReport(io.Discard, &suite{})
	require.NoError(t, r.read(strings.NewReader(strings.Join(events(
		"pass TestA", "output TestB     b_test.go:1: only in a guest: x", "skip TestB",
		"output TestC/a     c_test.go:1: only in a guest: x", "skip TestC/a", "output TestC/b     c_test.go:1: only in a guest: x", "skip TestC/b", "pass TestC",
		"output TestD     d_test.go:1: not on this kernel: x", "skip TestD", "output TestE/a     c_test.go:1: needs root: x", "skip TestE/a", "pass TestE",
		"output TestF     d_test.go:1: needs strace: x", "skip TestF",
	), "\n"))))
	l := list{Guest: tests{"p": {"TestB", "TestC"}}, Root: tests{"p": {"TestE"}}}
	assert.Equal(t, l, r.skipped)
	assert.Equal(t, l.Guest, l.on("6.12"))
	assert.Equal(t, tests{"p": {"TestB", "TestC", "TestE"}}, l.on("6.12-uml"))
}

// TestProofs: a test that a document names for a kernel has to have passed there.
func TestProofs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reliability.md")
	require.NoError(t, os.WriteFile(file, []byte("| Test | Runs on |\n|---|---|\n| `a.TestX` | guests |\n| `other.TestX` | guests |\n| `a.TestY/z` | 6.12 |\n| `b.TestZ` | host |\n| `a.TestR` | host (root) |\n| `a.TestS` | host |\n"), 0o600))
	for kernel, want := range map[string][]string{
		"6.12": {file + ":5: a.TestY/z did not run and pass here"}, "6.1": nil, "": {file + ":6: b.TestZ did not run and pass here", file + ":8: a.TestS did not run and pass here"},
	} {
		r := newReport(io.Discard, &suite{machine: machine{kernel: kernel}})
		for _, line := range []string{
			`{"Action":"pass","Package":"github.com/userevents/userevents-go/a","Test":"TestX"}`,
			`{"Action":"skip","Package":"github.com/userevents/userevents-go/a","Test":"TestY/z"}`,
			`{"Action":"pass","Package":"github.com/userevents/userevents-go/a/b","Test":"TestZ"}`,
			`{"Action":"pass","Package":"github.com/userevents/userevents-go/b","Test":"TestY"}`,
			`{"Action":"output","Package":"github.com/userevents/userevents-go/a","Test":"TestR","Output":"    r_test.go:1: needs root: x\n"}`,
			`{"Action":"skip","Package":"github.com/userevents/userevents-go/a","Test":"TestR"}`,
			`{"Action":"output","Package":"github.com/userevents/userevents-go/a","Test":"TestS","Output":"    s_test.go:1: needs strace: x\n"}`,
			`{"Action":"skip","Package":"github.com/userevents/userevents-go/a","Test":"TestS"}`,
		} {
			require.NoError(t, r.read(strings.NewReader(line)))
		}
		r.problems = nil
		require.NoError(t, r.checkProofs(file))
		assert.Equal(t, want, r.problems, kernel)
	}
	require.NoError(t, os.WriteFile(file, []byte("| Test |\n|---|\n| x |\n"), 0o600))
	assert.ErrorContains(t, newReport(nil, &suite{machine: machine{kernel: "6.1"}}).checkProofs(file), file+": line 3: a row")
}

func TestExplain(t *testing.T) {
	const boot = "Linux version 6.12\n" + startMark + "\n"
	for _, c := range []struct {
		name    string
		end     ending
		silent  bool
		want    []string
		console string // what of it is shown
	}{
		{name: "success", silent: true, end: ending{console: boot + "user_events: hm\n"}},
		{name: "a test fails", end: ending{status: 2, console: boot}},
		{name: "a message beside a failure", end: ending{status: 1, console: boot + "user_events: hm\n"}, console: "user_events: hm"},
		{
			name: "a warning beside success", end: ending{console: boot + "WARNING: x\n"},
			want: []string{"# kernel 6.12: FAIL: WARNING: x\n"}, console: boot + "WARNING: x",
		},
		{
			name: "a guest that dies", end: ending{failure: "the guest stopped", console: boot + "Kernel panic - not syncing: x\n"},
			want: []string{"FAIL: Kernel panic - not syncing: x\n", "FAIL: the guest stopped\n"}, console: boot + "Kernel panic - not syncing: x",
		},
		{name: "no console", end: ending{failure: "QEMU says: no"}, want: []string{"FAIL: QEMU says: no"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			c.end.explain("6.12", &out)
			if c.silent {
				assert.Empty(t, out.String())
				return
			}
			for _, want := range c.want {
				assert.Contains(t, out.String(), want)
			}
			_, shown, _ := strings.Cut(out.String(), "console log:\n")
			shown, _, _ = strings.Cut(shown, "\n# kernel 6.12: end of console log")
			assert.Equal(t, c.console, shown)
		})
	}
}

func TestComplaints(t *testing.T) {
	for line, bad := range map[string]bool{
		"Kernel panic - not syncing: sysrq triggered crash":                                             true,
		"Oops: Oops: 0002 [#1] SMP":                                                                     true,
		"Internal error: Oops: 0000000096000045 [#1] SMP":                                               true,
		"Unable to handle kernel NULL pointer dereference at virtual address 0000000000000000":          true,
		"BUG: kernel NULL pointer dereference, address: 0000000000000000":                               true,
		"kernel BUG: at mm/slub.c:440!":                                                                 true,
		"WARNING: CPU: 0 PID: 77 at kernel/trace/trace_events_user.c:1 user_event_mm+0x1/0x2":           true,
		"general protection fault, probably for non-canonical address":                                  true,
		"Out of memory: Killed process 77 (uevents.test)":                                               true,
		"WARNING: CPU: 1 PID: 77 at kernel/trace/trace_event_perf.c:404 perf_trace_buf_alloc+0x9c/0xb0": false,
		"x86/PAT: PAT support disabled because CONFIG_X86_PAT is disabled in the kernel.":               false,
		"Booting paravirtualized kernel on bare hardware":                                               false,
	} {
		assert.Equal(t, bad, len(ending{console: "Linux version 6.12\n" + line + "\nmore\n"}.problems()) > 0, line)
	}
}
