package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestComplaints(t *testing.T) {
	tests := []struct {
		name string
		line string
		bad  bool
	}{
		{"panic", "Kernel panic - not syncing: sysrq triggered crash", true},
		{"oops", "Oops: Oops: 0002 [#1] SMP", true},
		{"bug", "BUG: kernel NULL pointer dereference, address: 0000000000000000", true},
		{"bug at", "kernel BUG: at mm/slub.c:440!", true},
		{"warning", "WARNING: CPU: 0 PID: 77 at kernel/trace/trace_events_user.c:1 user_event_mm+0x1/0x2", true},
		{"protection fault", "general protection fault, probably for non-canonical address", true},
		{"out of memory", "Out of memory: Killed process 77 (uevents.test)", true},
		{"perf's buffer", "WARNING: CPU: 1 PID: 77 at kernel/trace/trace_event_perf.c:404 perf_trace_buf_alloc+0x9c/0xb0", false},
		{"boot", "Booting paravirtualized kernel on bare hardware", false},
		{"debug options", "x86/PAT: PAT support disabled because CONFIG_X86_PAT is disabled in the kernel.", false},
		{"power off", "reboot: Power down", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found := complaints("Linux version 6.12\n" + test.line + "\nmore\n")
			if test.bad {
				assert.Equal(t, []string{test.line}, found)
			} else {
				assert.Empty(t, found)
			}
		})
	}
}

func TestAfterStart(t *testing.T) {
	assert.Equal(t, "one\ntwo", afterStart("boot\n"+startMark+"\none\ntwo\n"))
	assert.Empty(t, afterStart("boot\n"+startMark+"\n"))
	assert.Empty(t, afterStart("never started\n"))
}
