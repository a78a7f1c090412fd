// Package truncate makes an encoded record that is too large fit its limit. All encodings follow the same rule, so
// that a record loses the same values whatever format it is written in:
//
// The longest texts and arrays are cut to equal shares of the space that the rest leaves. If a share is less than
// [Short] bytes, the last attributes are dropped first: an attribute stays if it fits behind those before it, with its
// text or array cut to Short bytes. So a text of up to Short bytes is never cut, unless the fields that each record
// has exceed the limit. Each value that was cut or dropped counts.
//
// The functions work on encoded bytes and in place: no method of the program's values runs twice, and a record that
// fits costs nothing.
package truncate

import (
	"bytes"
	"math"
	"slices"
	"sync"

	"github.com/userevents/userevents-go/internal/chars"
)

// Mark ends a text that was cut.
const Mark = "..."

// Short is the length in bytes to which texts and arrays are cut before attributes are dropped. Ids, error codes,
// methods and routes are shorter.
const Short = 64

// Record is an encoded record that [Fit] changes in place.
type Record interface {
	// Measure appends the lengths of the texts and arrays, and returns the size of the record.
	Measure(lengths []int) (all []int, size int)
	// Drop drops the attributes for which the budget has no space, and returns how many. The free space of the budget
	// is that of the whole record, a negative number: Drop adds what attributes take, and what texts and arrays beside
	// them are longer than [Short].
	Drop(budget *Budget) (dropped int)
	// Cut cuts each text and array that is longer than share to share bytes, and returns how many these are.
	Cut(share int) (cut int)
}

// Fit makes a record fit limit bytes. It returns how many texts, arrays and attributes it cut or dropped.
func Fit(r Record, limit int) (truncated int) {
	scratch := scratches.Get().(*[]int)
	lengths, size := r.Measure((*scratch)[:0])
	if size-excess(lengths) > limit {
		truncated = r.Drop(&Budget{Free: limit - size})
		lengths, size = r.Measure(lengths[:0])
	}
	share := Share(lengths, limit-size+sum(lengths))
	if cap(lengths) <= maxScratch {
		*scratch = lengths
	}
	scratches.Put(scratch)
	return truncated + r.Cut(share)
}

var scratches = sync.Pool{New: func() any { return new([]int) }}

// maxScratch keeps the few large lists from staying in memory for ever.
const maxScratch = 1 << 12

func sum(lengths []int) (total int) {
	for _, n := range lengths {
		total += n
	}
	return total
}

// excess returns how many bytes it saves to cut all texts to [Short].
func excess(lengths []int) (total int) {
	for _, n := range lengths {
		total += max(0, n-Short)
	}
	return total
}

// Share returns to how many bytes texts of these lengths are cut if together they may have free bytes: the longest to
// equal shares, the others not at all. Share sorts lengths.
func Share(lengths []int, free int) int {
	slices.Sort(lengths)
	for i, n := range lengths {
		if share := free / (len(lengths) - i); share < n {
			return max(0, share)
		}
		free -= n
	}
	return math.MaxInt
}

// Budget is the free space of a record while attributes are dropped.
type Budget struct {
	Free int // bytes

	open int // bytes of the groups that are open and have no attribute yet
}

// Keep reports whether an attribute fits: it has size bytes, of which length belong to a text or an array that can be
// cut to [Short]. If so, Keep takes the space.
func (b *Budget) Keep(size, length int) bool {
	size += b.open - max(0, length-Short)
	if size > b.Free {
		return false
	}
	b.Free -= size
	b.open = 0
	return true
}

// Open begins a group that takes size bytes beside its attributes. It takes them with its first attribute.
func (b *Budget) Open(size int) { b.open += size }

// Close ends a group of size bytes that has no attribute, and takes no space.
func (b *Budget) Close(size int) { b.open -= size }

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
