package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestConditionPlace: the error of a condition marks the place. It shows what is around the place of a long one.
func TestConditionPlace(t *testing.T) {
	const long = 30_000
	many := strings.Repeat("a == 1 or ", long/10)
	for name, c := range map[string]struct{ text, line, mark string }{
		"short":     {"a == 1 or\tb", "a == 1 or b", "           ^"},
		"beginning": {"a b " + many, "a b " + many[:66] + "...", "  ^"},
		"end":       {many + "b", "..." + (many + "b")[len(many)-69:], strings.Repeat(" ", 73) + "^"},
		"middle":    {many + "b c " + many, "..." + many[len(many)-33:] + "b c " + many[:33] + "...", strings.Repeat(" ", 38) + "^"},
		"letters":   {strings.Repeat("é == 1 or ", 100) + "b", "..." + strings.Repeat("é == 1 or ", 7)[2:] + "b", strings.Repeat(" ", 73) + "^"},
	} {
		_, err := parseCondition("--where", c.text)
		if assert.Error(t, err, name) {
			lines := strings.Split(err.Error(), "\n")
			assert.Len(t, lines, 3, name)
			assert.Equal(t, []string{"  " + c.line, "  " + c.mark}, lines[1:], name)
		}
	}
	_, err := parseCondition("--where", "kind == "+strings.Repeat("x", long))
	if assert.Error(t, err) {
		assert.Less(t, len(err.Error()), 500)
	}
}
