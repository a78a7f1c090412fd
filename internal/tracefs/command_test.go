package tracefs

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
)

func TestCommand(t *testing.T) {
	for _, c := range []struct{ command, name, canonical command }{
		{"one", "one", "one"},
		{"one u32 a; u8 b", "one", "one u32 a; u8 b"},
		{"one  u32 a;u8\tb", "one", "one u32 a; u8 b"},
		{"bad-name long x", "bad-name", "bad-name long x"},
	} {
		assert.EqualValues(t, c.name, c.command.name())
		assert.Equal(t, c.canonical, c.command.canonical())
	}
}

func TestConflicts(t *testing.T) {
	have := []command{"one u32 a; u8 b", "two", "several u32 a", "several u64 a"}
	for _, c := range []struct {
		name    string
		created []command
		want    []string // what the error names
	}{
		{"nothing created", nil, nil},
		{"all there", []command{"two", "one u32 a; u8 b"}, nil},
		{"spelled by a person", []command{"one u32  a;u8 b"}, nil},
		{"one of several formats", []command{"several u64 a"}, nil},
		{"removed since", []command{"three u32 a"}, nil},
		{"other fields", []command{"one u64 a", "two u8 a", "several u8 a", "two"}, []string{`"one u64 a": there is "one u32 a; u8 b"`, `"two u8 a"`, `"several u8 a"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := conflicts(have, c.created)
			if c.want == nil {
				assert.NoError(t, err)
				return
			}
			assert.ErrorIs(t, err, errno.EADDRINUSE)
			for _, want := range c.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

// TestLongCommand: an error says which line of a file it is about.
func TestLongCommand(t *testing.T) {
	_, err := parseCommands(strings.NewReader("u:a u32 n\n\nu:" + strings.Repeat("x", 1<<17)))
	assert.ErrorIs(t, err, bufio.ErrTooLong)
	assert.ErrorContains(t, err, "reading line 3 of user events")
}

// log is an error_log of Linux 6.12.
const log = `[  100.000001] event filter parse error: error: Field not found
  Command: nope == 1
           ^
[  117.404295] hist:user_events:ev: error: Couldn't find field
  Command: hist:keys=nope
                     ^
`

func TestProblemOfCommand(t *testing.T) {
	for _, c := range []struct{ log, command, want string }{
		{log, "hist:keys=nope", `Couldn't find field, at byte 11 of "hist:keys=nope"`},
		{log, "hist:keys=nope if status > 1", `Couldn't find field, at byte 11 of "hist:keys=nope"`}, // the kernel keeps its start
		{log, " hist:keys=nope ", `Couldn't find field, at byte 11 of "hist:keys=nope"`},
		{log, "nope == 1", ""}, // not the last
		{log, "hist:keys=other", ""},
		{log[:strings.Index(log, "[  117")], "nope == 1", `Field not found, at byte 1 of "nope == 1"`},
		{"", "x", ""},
		{"# no errors\n", "x", ""},
		{"[ 1.0] a: error: b\n", "x", ""},
		{"[ 1.0] a: error: b\n  Command: \n", "x", ""},
		{"[ 1.0] a: error: b\n  Command: x\n", "x", "b"},
		{"[ 1.0] a: error: b\n  Command: x\n   ^\n", "x", "b"},
		{"[ 1.0]\n  Command: x\n", "x", ""},
	} {
		assert.Equal(t, c.want, newProblem("", c.log, c.command), "%q in %q", c.command, c.log)
		assert.Empty(t, newProblem(c.log, c.log, c.command), "it is of an earlier command")
	}
}

// TestNewProblem: an entry with the same text is new if its time is.
func TestNewProblem(t *testing.T) {
	const problem, command = `Couldn't find field, at byte 11 of "hist:keys=nope"`, "hist:keys=nope"
	again := strings.ReplaceAll(log[strings.Index(log, "[  117"):], "117.404295", "117.404296")
	assert.Equal(t, problem, newProblem(log, log+again, command))
	assert.Equal(t, problem, newProblem(log, again, command), "the log keeps a few entries only")
	assert.Empty(t, newProblem(log, log+again, "nope == 1"))
	assert.Empty(t, newProblem(log, "", command), "cleared meanwhile")
}

// FuzzErrorLog: whatever the log has, only a new entry about the command is its problem.
func FuzzErrorLog(f *testing.F) {
	f.Add("", log, "hist:keys=nope")
	f.Add(log, log, "nope == 1")
	f.Add(log, "[ 1.0] a: error: b\n  Command: x\n   ^", "x y")
	f.Fuzz(func(t *testing.T, before, after, command string) {
		problem := newProblem(before, after, command)
		if problem == "" {
			return
		}
		entry := lastEntry(after)
		if entry == lastEntry(before) || !strings.Contains(entry, "  Command: ") {
			t.Fatalf("%q is the problem of %q in %q", problem, command, after)
		}
	})
}

func TestChoose(t *testing.T) {
	const (
		root     = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
		usual    = "24 20 0:12 / /sys/kernel/tracing rw - tracefs tracefs rw\n"
		other    = "25 20 0:12 / /mnt/tracing rw - tracefs tracefs rw\n"
		another  = "26 20 0:12 / /mnt/second rw - tracefs tracefs rw\n"
		debug    = "27 20 0:7 / /sys/kernel/debug rw - debugfs debugfs rw\n"
		dataFile = "28 20 0:12 /user_events_data /run/ue/user_events_data rw - tracefs tracefs rw\n"
		events   = "29 20 0:12 /events /mnt/events rw - tracefs tracefs rw\n"
	)
	for _, c := range []struct {
		name, mounts, want string
	}{
		{"nothing", "", ""},
		{"others only", root, ""},
		{"parts only", root + dataFile + events, ""},
		{"the usual place", root + usual, DefaultDir},
		{"the usual place after others", root + debug + other + usual, DefaultDir},
		{"the first of two unusual places", root + other + another, "/mnt/tracing"},
		{"an unusual place after debugfs", root + debug + other, "/mnt/tracing"},
		{"debugfs only", root + debug + dataFile, "/sys/kernel/debug/tracing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mounts, err := ParseMounts(strings.NewReader(c.mounts))
			require.NoError(t, err)
			dir, ok := choose(mounts)
			assert.Equal(t, c.want, dir)
			assert.Equal(t, c.want != "", ok)
		})
	}
}
