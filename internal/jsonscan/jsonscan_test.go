package jsonscan

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestString: a string ends at the first quotation mark that no backslash escapes.
func TestString(t *testing.T) {
	for text, want := range map[string]int{
		`""`: 2, `"a"`: 3, `"a","b"`: 3, `"\""`: 4, `"\\"`: 4, `"\\\""`: 6, `"\\\\","`: 6, `"a\"b\\"x`: 8,
		`"`: 1, `"a`: 2, `"\"`: 3, `"\`: 2, `\"`: 2, `\\"`: 3,
	} {
		assert.Equal(t, want, String([]byte(text), 0), text)
		assert.Equal(t, want+2, String([]byte("[\\"+text), 2), text)
	}
}
