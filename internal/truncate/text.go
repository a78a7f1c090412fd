package truncate

import (
	"bytes"

	"github.com/userevents/userevents-go/internal/chars"
)

// Text cuts an escaped text, plain or in JSON, to at most limit bytes, in place, between two characters or escapes.
// It returns the new length. The text must be longer than limit.
func Text(s []byte, limit int) (n int) {
	if limit < len(Mark) {
		return 0
	}
	keep := len(chars.ClipEscaped(s, limit-len(Mark)))
	return keep + copy(s[keep:], Mark)
}

// List cuts a list whose elements are separated by commas to at most limit bytes, in place, and puts the mark in the
// place of the last elements. It returns the new length. The list must be longer than limit.
func List(s []byte, limit int) (n int) {
	if limit < len(Mark) {
		return 0
	}
	keep := bytes.LastIndexByte(s[:limit-len(Mark)], ',') + 1
	return keep + copy(s[keep:], Mark)
}
