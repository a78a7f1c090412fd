package truncate

import "github.com/userevents/userevents-go/internal/jsonscan"

// The functions for JSON take objects as package attrjson writes them: valid, without white space between tokens.
// On anything else they return some prefix, and stay within the slice.

// arrayExtra is how much longer the shortest cut array, ["..."], is than a cut text.
const arrayExtra = len(`[""]`)

// members iterates over the members of an object and of the objects in it. A member whose value is an object is
// visited itself only if that is empty.
type members struct {
	b []byte
	i int

	key        int // where the member begins
	begin, end int // of the value

	depth int // objects around the member
	long  int // the depth of the members in an object with a long key, or 0
}

func (m *members) next() bool {
	for m.i < len(m.b) {
		switch m.b[m.i] {
		case '"':
		case '{':
			m.depth++
			m.i++
			continue
		case '}':
			if m.depth--; m.depth < m.long {
				m.long = 0
			}
			m.i++
			continue
		default:
			m.i++ // a comma
			continue
		}
		m.key = m.i
		m.i = jsonscan.String(m.b, m.i) + len(`:`)
		if m.i >= len(m.b) {
			return false
		}
		if m.b[m.i] == '{' && m.i+1 < len(m.b) && m.b[m.i+1] != '}' {
			if m.long == 0 && m.i-m.key > MaxKey {
				m.long = m.depth + 1
			}
			continue
		}
		m.begin = m.i
		m.i = jsonscan.Value(m.b, m.i)
		m.end = m.i
		return true
	}
	return false
}

// length returns the length by which the value is compared with others, or 0 if it is never cut.
func (m *members) length() int { return valueLength(m.b[m.begin:m.end]) }

func valueLength(value []byte) int {
	switch {
	case len(value) == 0:
		return 0
	case value[0] == '"':
		return len(value) - len(`""`)
	case value[0] == '[':
		return max(0, len(value)-arrayExtra)
	}
	return 0
}

// AppendLengths appends the lengths of an object's texts and arrays, which [Object] cuts, for [Divide].
func AppendLengths(lengths []int, object []byte) []int {
	for m := (members{b: object}); m.next(); {
		if n := m.length(); n > 0 {
			lengths = append(lengths, n)
		}
	}
	return lengths
}

// Object cuts the texts and arrays of an object that are longer than whole to cut bytes, in place, as [Divide] says.
// It returns the object's new length and how many values it cut.
func Object(object []byte, whole, cut int) (n, truncated int) {
	read, write := 0, 0
	for m := (members{b: object}); m.next(); {
		if m.length() <= whole {
			continue
		}
		write += copy(object[write:], object[read:m.begin])
		write += cutValue(object[write:], object[m.begin:m.end], cut)
		read = m.end
		truncated++
	}
	write += copy(object[write:], object[read:])
	return write, truncated
}

// cutValue writes a value, cut to a length of limit, to dst, which may begin before the value in the same array.
func cutValue(dst, value []byte, limit int) int {
	if value[0] == '"' {
		return cutString(dst, value, limit)
	}
	return cutArray(dst, value, limit+arrayExtra)
}

// cutString writes a string with its quotes, of which limit bytes between them, to dst, which may begin before the string in the same
// array.
func cutString(dst, s []byte, limit int) int {
	n := copy(dst, s) - len(`"`)
	n = 1 + Text(dst[1:n], limit)
	return n + copy(dst[n:], `"`)
}

// cutArray writes an array of at most limit bytes. Its texts are cut to equal shares. If they do not fit even
// then, the mark takes the place of the last elements.
func cutArray(dst, array []byte, limit int) int {
	var few [32]int
	lengths, texts := few[:0], 0
	for s := (stringsIn{b: array}); s.next(); {
		n := s.end - s.begin - len(`""`)
		lengths, texts = append(lengths, n), texts+n
	}
	whole, cut, fits := Divide(lengths, limit-(len(array)-texts))
	if !fits {
		return cutElements(dst, array, limit)
	}
	read, write := 0, 0
	for s := (stringsIn{b: array}); s.next(); {
		if s.end-s.begin-len(`""`) > whole {
			write += copy(dst[write:], array[read:s.begin])
			write += cutString(dst[write:], array[s.begin:s.end], cut)
			read = s.end
		}
	}
	return write + copy(dst[write:], array[read:])
}

// cutElements keeps the first elements of an array.
func cutElements(dst, array []byte, limit int) int {
	const end = `"` + Mark + `"]`
	keep := len(`[`)
	for i := keep; i < len(array) && array[i] != ']'; {
		i = jsonscan.Value(array, i) + len(`,`)
		if i+len(end) > limit {
			break
		}
		keep = i
	}
	n := copy(dst, array[:keep])
	return n + copy(dst[n:], end)
}

// stringsIn iterates over the strings in an array that are not keys of objects, at any depth.
type stringsIn struct {
	b          []byte
	i          int
	begin, end int
}

func (s *stringsIn) next() bool {
	for s.i < len(s.b) {
		if s.b[s.i] != '"' {
			s.i++
			continue
		}
		s.begin = s.i
		s.i = jsonscan.String(s.b, s.i)
		s.end = s.i
		if s.i == len(s.b) || s.b[s.i] != ':' {
			return true
		}
	}
	return false
}

// Sum returns the sum of lengths.
func Sum(lengths []int) (total int) {
	for _, n := range lengths {
		total += n
	}
	return total
}
