package chars

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

// FuzzDecode: characters are those of package utf8, in texts and in bytes, and a clipped text ends between two of them.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"a", "ä€\U0001f600", "\xff\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80\x80\x80\x80"} {
		f.Add(s, 2)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		for rest := s; rest != ""; {
			r, size := Decode(rest)
			want, wantSize := utf8.DecodeRuneInString(rest)
			assert.Equal(t, want, r)
			assert.Equal(t, wantSize, size)
			r, size = Decode([]byte(rest))
			assert.Equal(t, want, r)
			assert.Equal(t, wantSize, size)
			rest = rest[size:]
		}
		if n < 0 {
			return
		}
		clipped := Clip(s, n)
		assert.True(t, len(clipped) <= n && s[:len(clipped)] == clipped)
		assert.True(t, !utf8.ValidString(s) || utf8.ValidString(clipped))
	})
}
