package chars

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestClip(t *testing.T) {
	tests := []struct {
		text string
		n    int
		want int
	}{
		{"", 0, 0},
		{"abc", 5, 3},
		{"abc", 2, 2},
		{"日", 0, 0},
		{"日", 1, 0},
		{"日", 2, 0},
		{"日", 3, 3},
		{"a日", 2, 1},
		{"a😀b", 4, 1},
		{"a😀b", 5, 5},
		{"\x80\x80\x80\x80\x80\x80", 5, 5},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, len(Clip(tt.text, tt.n)), "%q %d", tt.text, tt.n)
		assert.Equal(t, tt.want, len(Clip([]byte(tt.text), tt.n)), "%q %d", tt.text, tt.n)
	}
}
