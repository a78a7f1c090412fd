// Package truncate makes an encoded record that is too large fit its limit. All encodings cut by the same rule, so
// that a record loses the same values whatever format it is written in:
//
// Texts longer than [Short] are cut first, the longest first, to equal shares. If that is not enough, as many as
// possible of the shortest texts stay whole. Then members of objects are dropped from the end, long texts first.
// Numbers, booleans, identifiers and keys are never cut.
//
// The functions work on encoded bytes and in place: no method of the program's values runs twice, and a record that
// fits costs nothing.
package truncate

import "slices"

// Mark ends a text that was cut.
const Mark = "..."

// Short is the length in bytes up to which a text is short: ids, error codes, methods and routes. Short texts are
// cut last.
const Short = 64

// Divide says how texts are cut that take these lengths, in bytes, when they have room bytes in all. Texts of at
// most whole bytes stay as they are, longer ones are cut to cut bytes.
//
// The longest texts are cut first, to equal shares. Where the shares would be less than [Short], as many as possible of
// the shortest texts stay whole instead, and the others share the rest, but at least the [Mark]. fits is
// false if there is no room even for that.
//
// Divide sorts lengths.
func Divide(lengths []int, room int) (whole, cut int, fits bool) {
	const least = len(Mark)
	slices.Sort(lengths)
	n, sum := len(lengths), 0
	for i, length := range lengths {
		// What is left, if all texts from this one on get the same.
		if share := (room - sum) / (n - i); share < length {
			if share >= Short {
				return share, share, true
			}
			break
		}
		sum += length
		if i == n-1 {
			return length, length, true
		}
	}
	// The shortest texts stay whole as long as there are least bytes for each of the others.
	rest := room
	for _, length := range lengths {
		rest -= min(length, least)
	}
	if rest < 0 {
		return 0, 0, false
	}
	for i, length := range lengths {
		need := length - min(length, least)
		// All texts of a length stay whole, or none.
		same := 1
		for i+same < n && lengths[i+same] == length {
			same++
		}
		if i > 0 && lengths[i-1] == length {
			continue
		}
		if need*same > rest {
			return whole, least + rest/(n-i), true
		}
		rest -= need * same
		whole = length
	}
	return whole, whole, true
}
