package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

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
