package ueventslog_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/testscale"
)

// TestDisabledIsOneBranch: a logger reads where its group is, the address of the enable word and the word, and branches. Every
// function has a branch before, about its stack.
func TestDisabledIsOneBranch(t *testing.T) {
	before := testscale.Disassemble(t)
	for _, method := range []string{"Emit", "Enabled"} {
		list := before(`ueventslog\.\(\*logger\)\.`+method, 2)
		t.Logf("%s:\n  %s", method, strings.Join(list, "\n  "))
		assert.LessOrEqual(t, len(list), 12, method)
		assert.Equal(t, 3, testscale.Loads(list), method)
	}
}
