package eventheader

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/userevents/userevents-go/internal/chars"
	"github.com/userevents/userevents-go/internal/text"
)

const (
	// Names that are no longer are written in the shortest way, which takes that much room.
	maxShortName = 24
	nameRoom     = 32
	// An encoder's buffer for data is no smaller, so that there is room to write eight bytes at a time.
	minData = 512
)

// kind returns what follows a field's name in the metadata, the first byte in the lowest one: the end of the name, the
// encoding, and the format if it is not the default. The highest byte is the number of these bytes.
func (t Type) kind() uint32 {
	if t>>8 != 0 {
		return typeSize<<24 | uint32(t>>8)<<16 | uint32(t&0xff|chainFlag)<<8
	}
	return (typeSize-1)<<24 | uint32(t)<<8
}

// field appends a field's metadata, unless decoders would not take the field.
func (e *Encoder) field(name string, t Type) bool { return e.put(name, t.kind(), 0, 0) }

// put is field for any field, and appends size bytes of data, 0 to 8, the first ones of v in the event's byte order.
//
// It is one function that calls nothing where it matters, since an encoder spends most of its time here. It looks at eight
// bytes of the name at a time, or four, and lets the last ones overlap those before, as package chars does.
func (e *Encoder) put(name string, kind uint32, v uint64, size int) bool {
	e.spare--
	n, at := len(name), len(e.meta)
	if e.spare < 0 || uint(n-1) >= maxShortName || cap(e.meta)-at < nameRoom || cap(e.data)-len(e.data) < 8 {
		return e.putAny(name, kind, v, size)
	}
	b := (*[nameRoom]byte)(e.meta[at : at+nameRoom])
	var bits uint64
	switch {
	case n >= 8:
		x, y := chars.Load64(name), chars.Load64(name[n-8:])
		bits = odd(x) | odd(y)
		binary.LittleEndian.PutUint64(b[:8], x)
		if n > 16 {
			x = chars.Load64(name[8:])
			bits |= odd(x)
			binary.LittleEndian.PutUint64(b[8:16], x)
		}
		binary.LittleEndian.PutUint64(b[n-8:n], y)
	case n >= 4:
		x, y := chars.Load32(name), chars.Load32(name[n-4:])
		binary.LittleEndian.PutUint32(b[:4], x)
		binary.LittleEndian.PutUint32(b[n-4:n], y)
		bits = odd(uint64(x) | uint64(y)<<32)
	default:
		x, y, z := name[0], name[n>>1], name[n-1]
		b[0], b[n>>1], b[n-1] = x, y, z
		bits = odd(tiny(x, y, z))
	}
	if bits&chars.Highs != 0 {
		return e.putAny(name, kind, v, size)
	}
	binary.LittleEndian.PutUint32(b[n:n+4], kind)
	// Slices of themselves are stored without a write barrier.
	e.meta = e.meta[:at+n+int(kind>>24)]
	begin := len(e.data)
	binary.NativeEndian.PutUint64(e.data[begin:begin+8], e.order.u64(v))
	e.data = e.data[:begin+size]
	return true
}

// putAny is put for names that are empty, long or need repair, for a crowded event, and where a buffer has to grow.
func (e *Encoder) putAny(name string, kind uint32, v uint64, size int) bool {
	if e.spare < 0 || name == "" || len(name) > e.limit {
		var fits bool
		if name, fits = e.crowded(name); !fits {
			return false
		}
	}
	e.meta = appendName(e.meta, name)
	e.meta = binary.LittleEndian.AppendUint32(e.meta, kind)
	e.meta = slices.Grow(e.meta[:len(e.meta)-4+int(kind>>24)], nameRoom)
	end := len(e.data) + size
	e.data = e.order.append64(e.data, v)[:end]
	return true
}

// crowded decides about a field that one of the limits concerns, or that has no name. It returns the name to write.
func (e *Encoder) crowded(name string) (string, bool) {
	switch {
	case e.skipped > 0 || e.first == 0:
		e.spare++
		return "", false
	case len(name) > e.limit:
		e.spare++
		e.lost++
		return "", false
	case name == "":
		name = noName
	}
	if e.spare == -1 {
		e.last, e.lastData = offset(len(e.meta)), offset(len(e.data))
	}
	if e.spare < -1 {
		e.spare++
		if !e.beginOverflow() {
			e.lost++
			return "", false
		}
		e.spare--
	}
	return name, true
}

// structItems is what the children of a struct and its end take of what decoders take.
// Reserving it also limits the depth of structs to 30, which a cursor can follow.
const structItems = maxStructSize + 1

var overflowMeta = []byte(overflowField + "\x00" + string([]byte{byte(encStruct) | chainFlag, 0}))

// BeginStruct begins a struct. The fields that follow are its children, until
// [Encoder.EndStruct]. A struct without children is omitted. One that is nested
// more than 8 levels deep becomes a text that holds a JSON object.
func (e *Encoder) BeginStruct(name string) {
	full := e.items < structItems
	if e.skipped == 0 && full {
		e.lost++
	}
	const oneChild = typeStruct | 1<<8 // EndStruct knows how many there are
	if e.skipped > 0 || full || !e.put(name, oneChild.kind(), 0, 0) {
		e.skip()
		return
	}
	end := offset(len(e.meta))
	e.push(end-offset(typeSize+max(len(name), len(noName))), end-1, offset(len(e.data)))
}

// push opens a struct. Its own field begins at begin in the metadata, its number of children is at format, and its data begins at data.
func (e *Encoder) push(begin, format, data offset) {
	e.parents = append(e.parents, e.frame)
	e.spare, e.begin, e.format, e.dataBefore, e.itemsBefore, e.overflow = maxStructSize-1, begin, format, data, int32(e.items), false
	e.items -= structItems
}

func (e *Encoder) skip() {
	if e.skipped == 0 {
		e.saved, e.spare = e.spare, 0
	}
	e.skipped++
}

// beginOverflow moves the last field that fits the open struct to a struct that takes its place, and opens that one.
func (e *Encoder) beginOverflow() bool {
	if e.items < structItems {
		return false
	}
	e.meta = slices.Insert(e.meta, int(e.last), overflowMeta...)
	e.push(e.last, e.last+offset(len(overflowMeta))-1, e.lastData)
	e.overflow = true
	e.spare--
	return true
}

// EndStruct ends the struct that was begun last.
func (e *Encoder) EndStruct() {
	for e.overflow && e.skipped == 0 {
		e.pop()
	}
	if e.skipped == 0 && len(e.parents) == 0 {
		if e.err == nil {
			e.err = invalidf("EndStruct without BeginStruct")
		}
		return
	}
	e.pop()
}

func (e *Encoder) pop() {
	if e.skipped > 0 {
		if e.skipped--; e.skipped == 0 {
			e.spare = e.saved
		}
		return
	}
	f := e.frame
	e.frame = e.parents[len(e.parents)-1]
	e.parents = e.parents[:len(e.parents)-1]
	switch children := maxStructSize - 1 - f.spare; {
	case children == 0:
		e.meta = e.meta[:f.begin]
		e.items = int(f.itemsBefore)
		e.spare++
	case len(e.parents) == maxNesting:
		e.structToText(f)
	default:
		e.meta[f.format] = byte(children)
		e.items += maxStructSize - children
	}
}

// structToText replaces a struct that decoders would not follow by its JSON.
func (e *Encoder) structToText(f frame) {
	format := f.format
	c := Cursor{meta: e.meta[format+1:], data: e.data[f.dataBefore:], order: e.order, steps: math.MaxInt}
	e.json = append(appendMembers(append(e.json[:0], '{'), &c), '}')
	e.meta = append(e.meta[:format-1], byte(encString8)|chainFlag, byte(FormatJSON)) // behind name and NUL
	e.items = int(f.itemsBefore)
	text := e.json[:min(len(e.json), e.limit+beyond)]
	e.data = append(e.order.append16(e.data[:f.dataBefore], uint16(len(text))), text...)
}

// appendName appends a name, made valid and printable.
func appendName(dst []byte, name string) []byte {
	at := len(dst)
	dst = append(dst, name...)
	if chars.PlainLen(name) < len(name) || strings.IndexByte(name, ';') >= 0 {
		repairName(dst[at:])
	}
	return dst
}

// tiny returns a word of the bytes of a name that has at most three, some of them twice, filled up with spaces.
func tiny(first, middle, last byte) uint64 {
	const spaces = ' ' * chars.Ones << 24 & math.MaxUint64
	return uint64(first) | uint64(middle)<<8 | uint64(last)<<16 | spaces
}

// odd returns the high bits of bytes that are a semicolon or not printable ASCII, and
// other bits. If one is set, those of the bytes above may be wrong.
func odd(w uint64) uint64 {
	return (w - ' '*chars.Ones) | (w + chars.Ones) | ((w ^ (';'^0x7f)*chars.Ones) + chars.Ones)
}

// repairName makes a name valid and printable, in place.
func repairName(name []byte) {
	for i := 0; i < len(name); {
		r, size := chars.Decode(name[i:])
		if r == utf8.RuneError && size == 1 || r == ';' || chars.Unprintable(r) {
			for j := range size {
				name[i+j] = '_'
			}
		}
		i += size
	}
}

// Int64 adds a signed integer of 64 bits.
func (e *Encoder) Int64(name string, v int64) {
	e.put(name, typeInt64.kind(), uint64(v), 8)
}

// Float64 adds a floating-point number of 64 bits.
func (e *Encoder) Float64(name string, v float64) {
	e.put(name, typeFloat64.kind(), math.Float64bits(v), 8)
}

// Bool adds a boolean of 8 bits.
func (e *Encoder) Bool(name string, v bool) {
	e.put(name, typeBool.kind(), uint64(bit(v))*chars.Ones, 1) // it is the first byte in each byte order
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// Bytes adds binary data.
func (e *Encoder) Bytes(name string, v []byte) {
	if e.field(name, typeBytes) {
		v = v[:min(len(v), e.limit)]
		e.data = append(e.order.append16(e.data, uint16(len(v))), v...)
	}
}

// Value adds a number of 8, 16, 32 or 64 bits, which are the low bits of v.
func (e *Encoder) Value(name string, t Type, v uint64) {
	size := t.encoding().size()
	if little := bool(e.order) != hostLittle; !little { // the first bytes are the high ones
		v <<= 64 - 8*size
	}
	e.put(name, t.kind(), v, size)
}

// Null adds a null: a signed integer without bytes.
func (e *Encoder) Null(name string) {
	if e.field(name, typeNull) {
		e.data = e.order.append16(e.data, 0)
	}
}

// Strings adds an array of texts in UTF-8.
func (e *Encoder) Strings(name string, v []string) {
	if !e.array(name, typeString) {
		return
	}
	n := min(len(v), e.items)
	e.lost += len(v) - n
	e.items -= n
	e.data = e.order.append16(e.data, uint16(n))
	for _, x := range v[:n] {
		e.data = e.order.appendText(e.data, x, e.limit)
	}
}

// Ints adds an array of signed integers.
func (e *Encoder) Ints(name string, v []int64) {
	for _, x := range v[:e.values(name, typeInt64, len(v))] {
		e.data = e.order.append64(e.data, uint64(x))
	}
}

// Floats adds an array of floating-point numbers.
func (e *Encoder) Floats(name string, v []float64) {
	for _, x := range v[:e.values(name, typeFloat64, len(v))] {
		e.data = e.order.append64(e.data, math.Float64bits(x))
	}
}

// Bools adds an array of booleans.
func (e *Encoder) Bools(name string, v []bool) {
	for _, x := range v[:e.values(name, typeBool, len(v))] {
		e.data = append(e.data, bit(x))
	}
}

// values begins an array of n values of a fixed size and returns how many of them to append.
func (e *Encoder) values(name string, t Type, n int) int {
	if !e.array(name, t) {
		return 0
	}
	take := min(n, e.items)
	if take < n {
		e.lost++
	}
	e.items -= take
	// End cuts what goes beyond the limit, and counts it.
	take = min(take, e.limit/t.encoding().size())
	e.data = e.order.append16(e.data, uint16(take))
	return take
}

func (e *Encoder) array(name string, t Type) bool {
	if e.items == 0 && e.skipped == 0 {
		e.lost++
		return false
	}
	if !e.field(name, t|flagVariable) {
		return false
	}
	e.items-- // its end is one more item
	return true
}

// beyond is how much more of a text is written than the limit of the event, so that fit notices that it is too long.
const beyond = 8

// String adds a text in UTF-8, escaped as package text says.
func (e *Encoder) String(name, v string) {
	const each = 0x0001_0001_0001_0001 // the length is the first two bytes in each byte order
	if !e.put(name, typeString.kind(), uint64(len(v))*each, 2) {
		return
	}
	at := len(e.data)
	if len(v) <= e.limit && chars.CopyPlain(e.data[:cap(e.data)], at, v) {
		e.data = e.data[:at+len(v)]
		return
	}
	e.data = e.order.appendText(e.data[:at-2], v, e.limit)
}

// appendText appends a text with its count. It stops once more than limit bytes are written, but does not call that a cut: the
// event will be too large then, and fit cuts it.
func (o order) appendText(dst []byte, v string, limit int) []byte {
	at := len(dst)
	dst, _ = text.Append(append(dst, 0, 0), v, limit+beyond)
	o.put16(dst[at:], uint16(len(dst)-at-2))
	return dst
}

// JSON adds a text that is JSON, with what is not printable escaped in JSON's notation. If it is cut, it becomes plain text.
func (e *Encoder) JSON(name, v string) {
	if !e.field(name, typeJSON) {
		return
	}
	at := len(e.data)
	e.data = chars.SanitizeJSON(append(e.data, 0, 0), v, e.limit+beyond)
	e.order.put16(e.data[at:], uint16(len(e.data)-at-2))
}
