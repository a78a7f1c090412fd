package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// asHost runs a program in a guest that plays a machine that is no guest, and fails it if the
// machine is not what it was before.
func asHost(cmd *exec.Cmd, port *os.File, run func(*exec.Cmd, *os.File) (int, error)) (status int, err error) {
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "USEREVENTS_") && v != emulated })
	before, err := snapshot(cmd.Env)
	if err != nil {
		return 0, err
	}
	if status, err = run(cmd, port); err != nil {
		return 0, err
	}
	// The kernel deletes events in the background.
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		after, err := snapshot(cmd.Env)
		if err != nil || slices.Equal(before, after) {
			return status, err
		}
		if time.Now().After(end) {
			printChanges(port, "-", before, after)
			printChanges(port, "+", after, before)
			return max(status, 1), nil
		}
	}
}

// printChanges prints the lines that only the first of two snapshots has.
func printChanges(port *os.File, sign string, snap, other []string) {
	for _, line := range snap {
		if _, found := slices.BinarySearch(other, line); !found {
			fmt.Fprintf(port, "# this machine changed: %s %s\n", sign, line)
		}
	}
}

// snapshotScript prints what of the machine's state tests could change and must not: files of tracefs with modes, owners and some
// contents, trace instances, sysctls but for those that change by themselves, mounts, AppArmor profiles. There are thousands of files in the
// directories of the kernel's own events; what is enabled of them is in set_event.
const snapshotScript = `
t=` + tracing + `
find $t -printf '%p: %M %U:%G\n' -type d -path "$t/events/*/*" ! -path "$t/events/user_events*" -prune
for file in dynamic_events user_events_status set_event set_event_pid set_ftrace_pid current_tracer tracing_on trace_clock trace_options \
  buffer_size_kb uprobe_events kprobe_events; do grep -sH '' $t/$file; done
grep -rasH '' /proc/sys --exclude-dir=random --exclude=ns_last_pid --exclude=nr --exclude=dentry-state --exclude='inode-*' --exclude=file-nr
grep -sH '' /proc/self/mounts /sys/kernel/security/apparmor/profiles
true`

// snapshot returns the state, a sorted list of lines.
func snapshot(env []string) ([]string, error) {
	cmd := exec.Command("/bin/sh", "-c", snapshotScript)
	cmd.Env = env
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("look at the machine: %w", err)
	}
	return slices.Sorted(strings.SplitSeq(string(out), "\n")), nil
}
