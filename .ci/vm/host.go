package main

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// asHost runs a program in a guest that plays a machine that is no guest, and fails it if the
// machine is not what it was before.
func asHost(cmd *exec.Cmd, port *os.File, run func(*exec.Cmd, *os.File) (int, error)) (status int, err error) {
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "USEREVENTS_") && v != emulated })
	before := snapshot()
	if status, err = run(cmd, port); err != nil {
		return 0, err
	}
	// The kernel deletes events in the background.
	after, end := snapshot(), time.Now().Add(time.Minute)
	for !maps.Equal(before, after) && time.Now().Before(end) {
		time.Sleep(100 * time.Millisecond)
		after = snapshot()
	}
	if maps.Equal(before, after) {
		return status, nil
	}
	_, err = io.WriteString(port, difference(before, after))
	return max(status, 1), err
}

func difference(before, after map[string]string) string {
	var text strings.Builder
	for _, snap := range []struct {
		sign string
		a, b map[string]string
	}{{"-", before, after}, {"+", after, before}} {
		for _, name := range slices.Sorted(maps.Keys(snap.a)) {
			if value, ok := snap.b[name]; !ok || value != snap.a[name] {
				fmt.Fprintf(&text, "# this machine changed: %s %s: %q\n", snap.sign, name, snap.a[name])
			}
		}
	}
	return text.String()
}

// contents are the files of tracefs whose content belongs to a snapshot. Of the others it is
// the mode and the owner: events are directories.
var contents = []string{
	"dynamic_events", "user_events_status", "set_event", "set_event_pid", "set_ftrace_pid", "current_tracer",
	"tracing_on", "trace_clock", "trace_options", "buffer_size_kb", "uprobe_events", "kprobe_events",
}

// volatile are the parts of /proc/sys that change by themselves.
var volatile = []string{
	"/proc/sys/kernel/random/", "/proc/sys/kernel/ns_last_pid", "/proc/sys/kernel/pty/nr",
	"/proc/sys/fs/dentry-state", "/proc/sys/fs/inode-", "/proc/sys/fs/file-nr",
}

// snapshot returns what of the machine's state tests could change and must not: files of
// tracefs with modes, owners and some contents, trace instances, sysctls, mounts, AppArmor profiles.
func snapshot() map[string]string {
	const tracing = "/sys/kernel/tracing/"
	state := map[string]string{}
	walk := func(root string, describe func(name string, info fs.FileInfo) string) {
		_ = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerror // what cannot be read twice is equal
			}
			if info, err := d.Info(); err == nil {
				state[name] = describe(name, info)
			}
			// There are thousands of files in the directories of the kernel's own events. What is
			// enabled of them is in set_event.
			if ok, _ := filepath.Match(tracing+"events/*/*", name); ok && d.IsDir() && !strings.HasPrefix(name, tracing+"events/user_events") {
				return fs.SkipDir
			}
			return nil
		})
	}
	read := func(name string) string {
		text, _ := os.ReadFile(name)
		return string(text)
	}
	walk(tracing, func(name string, info fs.FileInfo) string {
		owner := info.Sys().(*syscall.Stat_t)
		text := fmt.Sprintf("%v %d:%d", info.Mode(), owner.Uid, owner.Gid)
		if slices.Contains(contents, strings.TrimPrefix(name, tracing)) {
			text += " " + read(name)
		}
		return text
	})
	walk("/proc/sys/", func(name string, info fs.FileInfo) string {
		if info.IsDir() || slices.ContainsFunc(volatile, func(v string) bool { return strings.HasPrefix(name, v) }) {
			return ""
		}
		return read(name)
	})
	for _, name := range []string{"/proc/self/mounts", "/sys/kernel/security/apparmor/profiles"} {
		state[name] = read(name)
	}
	return state
}
