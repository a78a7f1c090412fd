package attrjson

import (
	"encoding/base64"
	"math"
	"slices"
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
	// buf ends in a bracket that opens, a colon or a comma: every member and element
	// is written with the comma behind it, which saves asking whether it is the first. The
	// bracket that closes the container replaces the last comma.
	buf   []byte
	start int // of the object in buf

	// end is the length that buf must not pass. What is missing to the limit pays for
	// the brackets of the open containers. It is -1 where nothing can be written
	// any more, so that every value fails the check that it makes anyway.
	end  int
	held int // end, while the key of a pending value did not fit; else -1

	mark  int  // where the member or element that waits for its value begins; -1: no key was written
	array bool // the innermost container is an array
	safe  int  // the last position in that array at which the mark of a cut fits, or -1

	lost    int // values dropped or cut
	entered int // groups, slices and maps of the caller's that were walked into

	open     int // groups that a Prefix left open and End closes
	lazy     int // where the groups begin that a Prefix has opened without a member
	lazyOpen int // how many these are
}

// Begin starts an object at the end of dst. The object, from brace to brace,
// will have at most limit bytes; a limit below 2, the length of {}, counts as 2. If
// dst has room for limit bytes, the buffer is never reallocated. dst belongs to the
// Writer until [Writer.End].
func Begin(dst []byte, limit int) Writer {
	start := len(dst)
	limit = min(max(limit, len(`{}`)), math.MaxInt-start)
	return Writer{
		buf:   append(dst, '{'),
		start: start,
		end:   start + limit, // the last comma pays for the brace
		held:  -1,
		mark:  -1,
		safe:  -1,
	}
}

// End closes the object. It returns the extended buffer and how many values
// were dropped or cut to keep the limit; a [Prefix] adds its own. The Writer
// must not be used afterwards.
func (w *Writer) End(d Duplicates) (buf []byte, lost int) {
	if w.lazyOpen > 0 {
		if w.last() == '{' {
			w.buf = w.buf[:w.lazy]
		} else {
			w.open += w.lazyOpen
		}
	}
	w.bracket('}')
	for range w.open {
		w.buf = append(w.buf, '}')
	}
	if d == KeepLast {
		w.buf = w.buf[:w.start+keepLast(w.buf[w.start:])]
	}
	return w.buf, w.lost
}

// Key writes the key of a member. A key is never cut: if it does not fit, its
// value is dropped.
func (w *Writer) Key(key string) {
	i, n := len(w.buf), quotedLen(key)
	w.mark = i
	if n <= w.end-i && n <= cap(w.buf)-i && quotePlain(w.buf[i:i+n], key, ':') {
		w.buf = w.buf[:i+n]
		return
	}
	w.escapedKey(key)
}

func (w *Writer) escapedKey(key string) {
	buf, whole := appendEscaped(w.buf, key, w.end-len(`:`))
	if !whole {
		w.hold()
		return
	}
	w.buf = append(buf, ':')
}

// hold lets the value fail whose key did not fit.
func (w *Writer) hold() {
	if w.end >= 0 {
		w.held, w.end = w.end, -1
	}
}

// String writes a string value; see [AppendString]. If it does not fit, it is
// cut between two characters and ends in an ellipsis (U+2026).
func (w *Writer) String(s string) {
	w.begin()
	i, n := len(w.buf), quotedLen(s)
	if n <= w.end-i && n <= cap(w.buf)-i && quotePlain(w.buf[i:i+n], s, ',') {
		w.buf = w.buf[:i+n]
		w.mark = -1
		return
	}
	w.escapedString(s)
}

func (w *Writer) escapedString(s string) {
	buf, whole := appendEscaped(w.buf, s, w.end-len(`,`))
	if len(buf) == len(w.buf) {
		w.drop()
		return
	}
	w.buf = append(buf, ',')
	w.mark = -1
	if !whole {
		w.lost++
	}
}

// Int writes a signed integer as a JSON number.
func (w *Writer) Int(v int64) {
	if v >= 0 {
		w.Uint(uint64(v))
		return
	}
	u := -uint64(v)
	if b := w.take(len(`-`) + decimalLen(u)); b != nil {
		b[0] = '-'
		putDecimal(b[1:], u)
	}
}

// Uint writes an unsigned integer as a JSON number. Values above
// [math.MaxInt64] are exact.
func (w *Writer) Uint(v uint64) {
	if b := w.take(decimalLen(v)); b != nil {
		putDecimal(b, v)
	}
}

// Float writes a floating-point number; see [AppendFloat].
func (w *Writer) Float(v float64) {
	var b [32]byte
	w.put(appendFloat(b[:0], v, 64))
}

// Bool writes true or false.
func (w *Writer) Bool(v bool) {
	if v {
		w.literal("true")
	} else {
		w.literal("false")
	}
}

// Null writes null, OpenTelemetry's empty value.
func (w *Writer) Null() { w.literal("null") }

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
	n := base64.StdEncoding.EncodedLen(len(b)) + len(`""`)
	if dst := w.take(n); dst != nil {
		dst[0], dst[n-1] = '"', '"'
		base64.StdEncoding.Encode(dst[1:], b)
	}
}

// put writes a value that is encoded already.
func (w *Writer) put(json []byte) {
	if dst := w.take(len(json)); dst != nil {
		copy(dst, json)
	}
}

func (w *Writer) literal(json string) {
	if dst := w.take(len(json)); dst != nil {
		copy(dst, json)
	}
}

// take extends the buffer by a value of n bytes and returns these for the caller to
// fill, or nil if the value does not fit and was dropped.
func (w *Writer) take(n int) []byte {
	w.begin()
	i := len(w.buf)
	if n >= w.end-i {
		w.drop()
		return nil
	}
	if n >= cap(w.buf)-i {
		w.buf = slices.Grow(w.buf, n+len(`,`))
	}
	b := w.buf[i : i+n+1]
	b[n] = ','
	w.buf = w.buf[:i+n+1]
	w.mark = -1
	return b[:n]
}

// begin precedes every value. Behind a key, there is nothing to do.
func (w *Writer) begin() {
	if w.mark < 0 {
		w.beginElement()
	}
}

// drop undoes the member or element whose value does not fit.
func (w *Writer) drop() {
	w.buf = w.buf[:w.mark]
	w.mark = -1
	w.lost++
	switch {
	case w.held >= 0:
		w.end, w.held = w.held, -1
	case w.array:
		// An element behind a missing one would have a wrong index.
		w.end = -1
	}
}

// bracket closes the innermost container. It takes the place of the last comma.
func (w *Writer) bracket(c byte) {
	if w.last() == ',' {
		w.buf[len(w.buf)-1] = c
		return
	}
	w.buf = append(w.buf, c)
}

func (w *Writer) last() byte { return w.buf[len(w.buf)-1] }
