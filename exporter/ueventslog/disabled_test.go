package ueventslog_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/testscale"
)

// load matches what reads memory, of amd64 and arm64, with the register that has the address.
var load = regexp.MustCompile(`^(?:MOV|LDAR)\w* \S*\((\w+)\), \w+$`)

// TestDisabledIsOneBranch: a logger reads where its group is, the address of the enable word and the word, and branches. Every
// function has a branch before, about its stack.
func TestDisabledIsOneBranch(t *testing.T) {
	before := testscale.Disassemble(t)
	for _, method := range []string{"Emit", "Enabled"} {
		list := before(`ueventslog\.\(\*logger\)\.`+method, 2)
		t.Logf("%s:\n  %s", method, strings.Join(list, "\n  "))
		assert.LessOrEqual(t, len(list), 12, method)
		loads := 0
		for _, instruction := range list {
			if m := load.FindStringSubmatch(instruction); m != nil && !slices.Contains([]string{"SP", "RSP", "R28"}, m[1]) {
				loads++
			}
		}
		assert.Equal(t, 3, loads, method)
	}
}
