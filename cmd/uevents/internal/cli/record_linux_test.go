package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRecordDiskFull: what cannot be written ends the recording, which says how much there is.
func TestRecordDiskFull(t *testing.T) {
	for _, n := range []int{1, 5000} { // in Close, and before
		f := newFeed(make([]string, n)...)
		code, _, errs := f.run(t, "record", "a", "-o", "/dev/full", "--format", "jsonl")
		assert.Equal(t, exitError, code)
		assert.Equal(t, 1, strings.Count(errs, "no space left on device"), errs)
		assert.Contains(t, errs, "-> the file has what was recorded before; make room")
		assert.True(t, f.closed)
	}
}

// TestRecordDiskFullCommand: when the recording fails, the command goes on.
func TestRecordDiskFullCommand(t *testing.T) {
	f := newFeed(make([]string, 5000)...)
	f.more = nil
	code, out, errs := f.run(t, "record", "a", "-o", "/dev/full", "--format", "jsonl", "--", "sh", "-c", "sleep 0.5; echo done")
	assert.Equal(t, exitError, code)
	assert.Equal(t, "done\n", out)
	assert.Contains(t, errs, "! recording has ended, sh goes on: ")
}
