package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

func TestFollow(t *testing.T) {
	const mark = "\x00NONCE"
	for _, c := range []struct {
		name    string
		stream  string
		hangs   bool // instead of hanging up
		signal  bool
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
		{name: "interrupt", stream: "", hangs: true, signal: true, failure: "the guest was not done: quit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, w := io.Pipe()
			defer func() { _ = r.Close() }()
			interrupt := make(chan os.Signal, 1)
			var requests, out bytes.Buffer
			g, lim := guest{mark: []byte(mark), requests: &requests, chunks: make(chan []byte)}, limits{}
			if c.signal {
				interrupt <- syscall.SIGQUIT
			} else if c.hangs {
				lim = limits{silence: 20 * time.Millisecond, answer: time.Millisecond}
			}
			go g.read(iotest.OneByteReader(r))
			go func() {
				_, _ = w.Write([]byte(c.stream))
				if !c.hangs {
					_ = w.Close()
				}
			}()
			end, err := g.follow(&out, lim, interrupt)
			require.NoError(t, err)
			assert.Equal(t, c.printed, out.String())
			assert.Equal(t, c.status, end.status)
			assert.Equal(t, c.failure, end.failure)
			assert.Equal(t, strings.Repeat("{\"Job\":null}\n", c.asked), requests.String())
		})
	}
}

// A test that ends once it was asked to has hung all the same.
func TestFollowAnswer(t *testing.T) {
	r, w := io.Pipe()
	asked, request := io.Pipe()
	g := guest{mark: []byte("\x00N"), requests: request, chunks: make(chan []byte)}
	go g.read(r)
	go func() {
		_, _ = asked.Read(make([]byte, 99))
		_, _ = w.Write([]byte("SIGQUIT: quit\n\x00N2\n"))
	}()
	var out bytes.Buffer
	end, err := g.follow(&out, limits{silence: time.Millisecond, answer: testscale.Patience}, nil)
	require.NoError(t, err)
	assert.Equal(t, "SIGQUIT: quit\n", out.String())
	assert.Equal(t, "the test hung: it printed nothing for 1ms (exit status 2)", end.failure)
}

func TestVerdict(t *testing.T) {
	const boot = "Linux version 6.12\n" + startMark + "\n"
	for _, c := range []struct {
		name    string
		end     ending
		status  int
		want    []string
		console string // what of it is shown
	}{
		{name: "success", end: ending{console: boot + "user_events: hm\n"}},
		{name: "a test fails", end: ending{status: 2, console: boot}, status: 2},
		{name: "a message beside a failure", end: ending{status: 1, console: boot + "user_events: hm\n"}, status: 1, console: "user_events: hm"},
		{
			name: "a warning beside success", end: ending{console: boot + "WARNING: x\n"}, status: 1,
			want: []string{"# kernel 6.12: FAIL: WARNING: x\n"}, console: boot + "WARNING: x",
		},
		{
			name: "a guest that dies", end: ending{failure: "the guest stopped", console: boot + "Kernel panic - not syncing: x\n"}, status: 1,
			want: []string{"FAIL: Kernel panic - not syncing: x\n", "FAIL: the guest stopped\n"}, console: boot + "Kernel panic - not syncing: x",
		},
		{name: "no console", end: ending{failure: "QEMU says: no"}, status: 1, want: []string{"FAIL: QEMU says: no"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			err := c.end.verdict("6.12", &out)
			if c.status == 0 {
				require.NoError(t, err)
				assert.Empty(t, out.String())
				return
			}
			assert.Equal(t, exitStatus(c.status), err)
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
		err := ending{console: "Linux version 6.12\n" + line + "\nmore\n"}.verdict("6.12", io.Discard)
		assert.Equal(t, bad, err != nil, line)
	}
}
