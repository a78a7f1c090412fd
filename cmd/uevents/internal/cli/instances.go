package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/userevents/userevents-go/internal/tracefs"
)

// ownInstance matches names of the command's instances: the process's id, its start time, and the PID namespace of the id.
// They tell which instances were left by killed processes.
var ownInstance = regexp.MustCompile(`^uevents_(?:hist|doctor)_(\d+)_(\d+)_(\d+)$`)

// instanceName returns the name of this process's instance for a command.
func instanceName(command, proc string) (string, error) {
	start, err := startTime(proc, "self")
	if err != nil {
		return "", err
	}
	namespace, err := pidNamespace(proc)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("uevents_%s_%d_%s_%s", command, os.Getpid(), start, namespace), nil
}

// startTime returns when a process started, in ticks since the machine did.
func startTime(proc, pid string) (string, error) {
	stat, err := os.ReadFile(filepath.Join(proc, pid, "stat"))
	if err != nil {
		return "", err
	}
	// The second field is the name in parentheses, which can hold any byte. The 22nd is the start time:
	// proc_pid_stat(5).
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("reading /proc/%s/stat: %w", pid, syscall.EIO)
	}
	return fields[19], nil
}

// pidNamespace returns the number of this process's PID namespace.
func pidNamespace(proc string) (string, error) {
	link, err := os.Readlink(filepath.Join(proc, "self", "ns", "pid")) // pid:[4026531836]
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimPrefix(link, "pid:["), "]"), nil
}

// removeDeadInstances removes instances of killed processes in the PID namespace of this process. It cannot see whether
// others run.
func removeDeadInstances(dir *tracefs.Dir, proc string) {
	self, err := os.Readlink(filepath.Join(proc, "self"))
	if err != nil || self != strconv.Itoa(os.Getpid()) {
		return // proc is that of another namespace
	}
	namespace, err := pidNamespace(proc)
	if err != nil {
		return // creating an instance will report the error
	}
	names, err := dir.Instances()
	if err != nil {
		return // likewise
	}
	for _, name := range names {
		m := ownInstance.FindStringSubmatch(name)
		if m == nil || m[3] != namespace {
			continue
		}
		start, err := startTime(proc, m[1])
		if err == nil && start == m[2] || err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if i, err := dir.Instance(name); err == nil {
			_ = i.Remove() // another uevents may remove it at the same time
		}
	}
}
