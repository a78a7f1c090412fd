package reader

import "unsafe"

// Records are decoded without copying them: texts are the bytes of the record, which the caller keeps for as long as the
// event is in use. This file is the only one that relies on it.

// stringOf returns b as a string, which changes if b does.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf returns the bytes of a string that stringOf made.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
