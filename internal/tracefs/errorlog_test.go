package tracefs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

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
