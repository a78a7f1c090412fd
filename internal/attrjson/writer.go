package attrjson

import (
	"encoding/base64"
	"math"
	"time"

	"github.com/userevents/userevents-go/internal/truncate"
)

// NoLimit is a limit that no text reaches.
const NoLimit = math.MaxInt

// maxObject is the largest size of an object in bytes, far above that of any record. Further values are dropped, so that a value
// of millions of elements does not use up the memory.
const maxObject = 4 << 20

// Writer appends one JSON object to a buffer. It is made by [Begin] or
// [Prefix.Begin] and meant to live on the stack: it must not be copied once it is used, is
// not safe for concurrent use, and its zero value is of no use.
//
// A member is written by [Writer.Key] and one value: a call of String, Int,
// Any and so on, or everything from [Writer.Object], [Writer.Array] or
// [Writer.Group] to the matching [Writer.Close]. Elements of an array have no key.
// Breaking this order is a programming error. It does not panic, but the
// output is then no valid JSON.
type Writer struct {
	// b[:n] is what was written. It ends in a bracket that opens, a colon or a comma: every
	// member and element is written with the comma behind it, which saves asking whether it is the
	// first. The bracket that closes the container replaces the last comma.
	//
	// len(b) is how far can be written without a further look: its capacity.
	b []byte
	n int

	limit      int // that the object is going to have
	capped     int // texts and arrays of which no more was written than the limit may leave of them
	duplicates Duplicates

	mark    int // where the last member begins
	dropped int // values dropped
	entered int // groups, slices and maps of the caller's that were walked into

	start    int // of the object
	unclosed int // groups that a Prefix left open and End closes
	lazy     int // where the groups begin that a Prefix has opened without a member
	lazyOpen int // how many these are
}

// Begin starts an object at the end of dst, which belongs to the Writer until [Writer.End].
//
// The limit is what package truncate is going to cut the object to, or less than that; [NoLimit] means that nothing is going to be cut.
// The object gets longer than the limit, but no more of a long value is written than could be left of it.
func Begin(dst []byte, limit int) (w Writer) {
	w.open(dst, limit)
	return w
}

// open makes w, which is the zero Writer, one that begins an object. A Writer is large: this
// spares copies of it.
func (w *Writer) open(dst []byte, limit int) {
	w.start, w.limit = len(dst), limit
	w.n = w.start + 1
	dst = append(dst, '{')
	w.b = dst[:cap(dst)]
}

// End closes the object. It returns the extended buffer and how many values
// were dropped because there were too many; those that a [Prefix] has dropped are among them. The Writer
// must not be used afterwards.
func (w *Writer) End(d Duplicates) (buf []byte, dropped int) {
	if w.lazyOpen > 0 {
		if w.last() == '{' {
			w.n = w.lazy
		} else {
			w.unclosed += w.lazyOpen
		}
	}
	buf = w.b[:w.n]
	if w.last() == ',' {
		buf[w.n-1] = '}'
	} else {
		buf = append(buf, '}')
	}
	for range w.unclosed {
		buf = append(buf, '}')
	}
	if d == KeepLast {
		buf = buf[:w.start+keepLast(buf[w.start:])]
	}
	return buf, w.dropped
}

// Key writes the key of a member.
func (w *Writer) Key(key string) {
	w.mark = w.n
	if n := putString(&w.b, w.n, key, ':'); n > 0 {
		w.n = n
		return
	}
	// If a key is longer than the limit, the member is going to be dropped.
	buf, _ := appendEscaped(w.b[:w.n], key, w.bound(w.limit))
	w.wrote(append(buf, ':'))
}

// String writes a string value; see [AppendString].
func (w *Writer) String(s string) {
	if n := putString(&w.b, w.n, s, ','); n > 0 {
		w.n = n
		return
	}
	if w.full() {
		return
	}
	buf, whole := appendEscaped(w.b[:w.n], s, w.end())
	w.wrote(append(buf, ','))
	if !whole {
		w.capped++
	}
}

// plenty is up to how many times as long as the limit an object gets before long texts are written only in part.
const plenty = 16

// end returns where a text ends at the latest. Others may be dropped or removed as duplicates, so the last long text may
// have the limit for itself. Of very many long texts, the n-th gets an n-th of the limit, so that the object
// stays small whatever is in it.
func (w *Writer) end() int {
	if w.duplicates == KeepLast || (w.n-w.start)/plenty < w.limit {
		return w.bound(w.limit)
	}
	return w.bound(w.limit / (w.capped + 1))
}

// bound returns where a text of at most so many bytes ends at the latest.
func (w *Writer) bound(most int) int {
	const least = 2 * truncate.Short // which share is enough for any text
	if w.limit == NoLimit {
		return math.MaxInt
	}
	return w.n + max(most, least) + len(`""`)
}

// full reports that the object is too long for one more value, and drops the value.
func (w *Writer) full() bool {
	if w.n-w.start < maxObject || w.limit == NoLimit {
		return false
	}
	w.drop()
	return true
}

// drop leaves out a value, whose key may have been written.
func (w *Writer) drop() {
	if w.last() == ':' {
		w.n = w.mark
	}
	w.dropped++
}

// Int writes a signed integer as a JSON number.
func (w *Writer) Int(v int64) {
	if n := putInt(&w.b, w.n, v); n > 0 {
		w.n = n
		return
	}
	b := make([]byte, numberRoom)
	w.put(b[:putInt(&b, 0, v)-len(`,`)])
}

// Uint writes an unsigned integer as a JSON number. Values above
// [math.MaxInt64] are exact.
func (w *Writer) Uint(v uint64) {
	b := make([]byte, numberRoom)
	w.put(b[:putUint(&b, 0, v)-len(`,`)])
}

// Float writes a floating-point number; see [AppendFloat].
func (w *Writer) Float(v float64) {
	var b [32]byte
	w.put(appendFloat(b[:0], v, 64))
}

// Bool writes true or false.
func (w *Writer) Bool(v bool) {
	var b [8]byte
	w.put(b[:putBool(b[:], 0, v)-len(`,`)])
}

// Null writes null, OpenTelemetry's empty value.
func (w *Writer) Null() {
	b := [...]byte{'n', 'u', 'l', 'l'}
	w.put(b[:])
}

// Duration writes d as the number of its nanoseconds, as [log/slog.JSONHandler] does.
func (w *Writer) Duration(d time.Duration) { w.Int(int64(d)) }

// Time writes t as a string; see [AppendTime].
func (w *Writer) Time(t time.Time) {
	var b [64]byte
	w.put(AppendTime(b[:0], t))
}

// Bytes writes b as a string of its base64 (RFC 4648, section 4, with padding).
func (w *Writer) Bytes(b []byte) {
	if w.full() {
		return
	}
	if most := (w.end() - w.n) / 4 * 3; len(b) > most {
		b = b[:most]
		w.capped++
	}
	buf := append(w.b[:w.n], '"')
	buf = base64.StdEncoding.AppendEncode(buf, b)
	w.wrote(append(buf, `",`...))
}

func (w *Writer) put(json []byte) {
	if w.full() {
		return
	}
	if len(json) > maxObject && w.limit != NoLimit {
		w.drop()
		return
	}
	buf := append(w.b[:w.n], json...)
	w.wrote(append(buf, ','))
}

// wrote takes over a buffer to which something was appended.
func (w *Writer) wrote(buf []byte) {
	w.n = len(buf)
	w.b = buf[:cap(buf)]
}

func (w *Writer) last() byte { return w.b[w.n-1] }
