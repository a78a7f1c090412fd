package attrjson

import (
	"encoding/base64"
	"math"
	"time"
)

// NoLimit is a limit that no object reaches.
const NoLimit = math.MaxInt

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
	// len(b) is how far can be written without a further look: to the capacity or to end.
	b []byte
	n int

	// end is the value that n must not pass. What is missing to the limit pays for
	// the brackets of the open containers. It is -1 where nothing can be written any more, so
	// that every value fails the check that it makes anyway.
	end  int
	held int // end, while the key of a pending value did not fit; else -1

	mark  int  // where the last member or element begins
	array bool // the innermost container is an array: values have no key
	safe  int  // the last position in that array at which the mark of a cut fits, or -1

	lost    int // values dropped or cut
	entered int // groups, slices and maps of the caller's that were walked into

	start    int // of the object
	unclosed int // groups that a Prefix left open and End closes
	lazy     int // where the groups begin that a Prefix has opened without a member
	lazyOpen int // how many these are
}

// Begin starts an object at the end of dst. The object, from brace to brace,
// will have at most limit bytes; a limit below 2, the length of {}, counts as 2. If
// dst has room for limit bytes, the buffer is never reallocated. dst belongs to the
// Writer until [Writer.End].
func Begin(dst []byte, limit int) (w Writer) {
	w.open(dst, limit)
	return w
}

// open makes w, which is the zero Writer, one that begins an object. A Writer is large: this
// spares copies of it.
func (w *Writer) open(dst []byte, limit int) {
	w.start = len(dst)
	w.end = w.start + min(max(limit, len(`{}`)), math.MaxInt-w.start) // the last comma pays for the brace
	w.n = w.start + 1
	dst = append(dst, '{')
	w.b = dst[:min(w.end, cap(dst))]
	w.held, w.safe = -1, -1
}

// End closes the object. It returns the extended buffer and how many values
// were dropped or cut to keep the limit; a [Prefix] adds its own. The Writer
// must not be used afterwards.
func (w *Writer) End(d Duplicates) (buf []byte, lost int) {
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
	return buf, w.lost
}

// Key writes the key of a member. A key is never cut: if it does not fit, its
// value is dropped.
func (w *Writer) Key(key string) {
	w.mark = w.n
	if n := putString(&w.b, w.n, key, ':'); n > 0 {
		w.n = n
		return
	}
	buf, whole := appendEscaped(w.b[:w.n], key, w.end-len(`:`))
	if !whole {
		w.hold()
		return
	}
	w.wrote(append(buf, ':'))
}

// hold lets the value fail whose key did not fit.
func (w *Writer) hold() {
	if w.end >= 0 {
		w.held = w.end
		w.setEnd(-1)
	}
}

// String writes a string value; see [AppendString]. If it does not fit, it is
// cut between two characters or escapes and ends in [text.CutMark].
func (w *Writer) String(s string) {
	w.begin()
	if n := putString(&w.b, w.n, s, ','); n > 0 {
		w.n = n
		return
	}
	buf, whole := appendEscaped(w.b[:w.n], s, w.end-len(`,`))
	if len(buf) == w.n {
		w.drop()
		return
	}
	w.wrote(append(buf, ','))
	if !whole {
		w.lost++
	}
}

// Int writes a signed integer as a JSON number.
func (w *Writer) Int(v int64) {
	w.begin()
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
// It is dropped if it does not fit.
func (w *Writer) Bytes(b []byte) {
	w.begin()
	n := base64.StdEncoding.EncodedLen(len(b)) + len(`"",`)
	if n > w.end-w.n {
		w.drop()
		return
	}
	buf := append(w.b[:w.n], '"')
	buf = base64.StdEncoding.AppendEncode(buf, b)
	w.wrote(append(buf, `",`...))
}

// begin precedes every value. Behind a key, there is nothing to do.
func (w *Writer) begin() {
	if w.array {
		w.beginElement()
	}
}

// put writes a value that is encoded already, or drops it.
func (w *Writer) put(json []byte) {
	w.begin()
	if len(json) >= w.end-w.n {
		w.drop()
		return
	}
	buf := append(w.b[:w.n], json...)
	w.wrote(append(buf, ','))
}

// wrote takes over a buffer to which something was appended.
func (w *Writer) wrote(buf []byte) {
	w.n = len(buf)
	w.b = buf[:min(w.end, cap(buf))]
}

// drop undoes the member or element whose value does not fit.
func (w *Writer) drop() {
	w.n = w.mark
	w.lost++
	switch {
	case w.held >= 0:
		w.setEnd(w.held)
		w.held = -1
	case w.array:
		// An element behind a missing one would have a wrong index.
		w.setEnd(-1)
	}
}

func (w *Writer) setEnd(end int) {
	w.end = end
	w.b = w.b[:max(w.n, min(end, cap(w.b)))]
}

func (w *Writer) last() byte { return w.b[w.n-1] }
