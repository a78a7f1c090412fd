package record

import "unsafe"

// Decoding does not copy texts one by one: they share the bytes of the record, or of its copy. The unsafe conversions are in
// this file only.

// stringOf returns b as a string that shares its memory: the string changes if b does.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf returns the bytes of a string that stringOf made.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
