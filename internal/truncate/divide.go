// Package truncate makes an encoded record that is too large fit its limit. All encodings cut by the same rule, so
// that a record loses the same values whatever format it is written in:
//
// Texts and arrays longer than [Short] are cut first, the longest first, to equal shares. If that is not enough,
// members of objects are dropped: those deep in other objects or with huge keys first, then those with long values, then all but a
// few of those with short texts, then all but a few of the numbers, and at last these few. The
// last few members stay longer than those in the middle, since the first ones of a log record are the ones bound to
// a logger, such as a request's id, and the error is mostly the last one. Keys and identifiers are never cut.
//
// The functions work on encoded bytes and in place: no method of the program's values runs twice, and a record that
// fits costs nothing.
package truncate

import "slices"

// Mark ends a text that was cut.
const Mark = "..."

// Short is the length in bytes up to which a text is short: ids, error codes, methods and routes.
const Short = 64

// legible is how many bytes of a text are better than the whole text dropped.
const legible = 8

// Divide says how texts are cut that take these lengths, in bytes, when they have room bytes in all. Texts of at
// most whole bytes stay as they are, longer ones are cut to cut bytes.
//
// The longest texts are cut to equal shares. Where these would be less than [Short], the short texts stay whole, and the others share
// the rest, but get at least the [Mark]. If there is no room for that either, short texts are cut too. If less than a few bytes
// would be left of them, fits is false: the caller should drop some of the texts. If it cannot, whole and cut say
// how to cut them even more.
//
// Divide sorts lengths.
func Divide(lengths []int, room int) (whole, cut int, fits bool) {
	slices.Sort(lengths)
	n, sum := len(lengths), 0
	for i, length := range lengths {
		// What is left, if all texts from this one on get the same.
		if share := (room - sum) / (n - i); share < length {
			if share >= Short {
				return share, share, true
			}
			return divideShort(lengths, room, share)
		}
		sum += length
	}
	if room < 0 {
		return 0, 0, false
	}
	if n == 0 {
		return 0, 0, true
	}
	return lengths[n-1], lengths[n-1], true
}

// divideShort divides room that is not enough for [Short] bytes of each text.
func divideShort(lengths []int, room, share int) (whole, cut int, fits bool) {
	n, shorts, sum := len(lengths), 0, 0
	for shorts < n && lengths[shorts] <= Short {
		sum += lengths[shorts]
		shorts++
	}
	if shorts < n && sum+(n-shorts)*len(Mark) <= room {
		return Short, (room - sum) / (n - shorts), true
	}
	if share >= legible {
		return share, share, true
	}
	// As many as possible of the shortest texts stay whole, while there is a mark for each of the others, or else nothing.
	least, rest := len(Mark), room-marks(lengths)
	if rest < 0 {
		least, rest = 0, room
	}
	if rest < 0 {
		return 0, 0, false
	}
	for i := 0; i < n; {
		length, same := lengths[i], 1 // all texts of a length stay whole, or none
		for i+same < n && lengths[i+same] == length {
			same++
		}
		need := same * (length - min(length, least))
		if need > rest {
			if least > 0 {
				least += rest / (n - i)
			}
			return whole, least, false
		}
		rest -= need
		whole = length
		i += same
	}
	return whole, whole, false
}

// marks returns the room that texts take of which nothing but the mark is left.
func marks(lengths []int) (sum int) {
	for _, length := range lengths {
		sum += min(length, len(Mark))
	}
	return sum
}
