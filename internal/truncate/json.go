package truncate

import "github.com/userevents/userevents-go/internal/jsonscan"

// The functions for JSON take objects as package attrjson writes them: valid, without white space between tokens.
// On anything else they return some prefix, and stay within the slice. The attributes of an object are its members
// and those of the objects in it, but not in arrays; an object without members is an attribute itself.

// arrayExtra is how much longer the shortest cut array, ["..."], is than a cut text.
const arrayExtra = len(`[""]`)

type token uint8

const (
	attribute token = iota
	groupBegin
	groupEnd // or the end of the object
)

// scanner iterates over the attributes of an object, and the beginnings and ends of the groups around them.
type scanner struct {
	b    []byte
	next int

	token      token
	key        int // where the token begins
	begin, end int // of the attribute's value
}

func scan(object []byte) scanner { return scanner{b: object, next: len(`{`)} }

func (s *scanner) scan() bool {
	for s.next < len(s.b) {
		switch s.b[s.next] {
		case ',':
			s.next++
			continue
		case '}':
			s.token, s.key = groupEnd, s.next
			s.next++
			return true
		}
		s.key = s.next
		s.begin = jsonscan.String(s.b, s.key) + len(`:`)
		if s.begin >= len(s.b) {
			return false
		}
		if s.b[s.begin] == '{' && s.begin+1 < len(s.b) && s.b[s.begin+1] != '}' {
			s.token, s.next = groupBegin, s.begin+1
			return true
		}
		s.token = attribute
		s.end = jsonscan.Value(s.b, s.begin)
		s.next = max(s.end, s.begin+1)
		return true
	}
	return false
}

func (s *scanner) attribute() bool {
	for s.scan() {
		if s.token == attribute {
			return true
		}
	}
	return false
}

// length returns the length of the attribute's text or array, or 0 if it has none.
func (s *scanner) length() int {
	switch n := s.end - s.begin; s.b[s.begin] {
	case '"':
		return n - len(`""`)
	case '[':
		return max(0, n-arrayExtra)
	}
	return 0
}

// AppendLengths appends the lengths of an object's texts and arrays, which [Object] cuts.
func AppendLengths(lengths []int, object []byte) []int {
	for s := scan(object); s.attribute(); {
		if n := s.length(); n > 0 {
			lengths = append(lengths, n)
		}
	}
	return lengths
}

// Members returns how many attributes a part of an object has, which begins before a key, and its size with their
// texts and arrays cut to [Short].
func Members(part []byte) (n, least int) {
	least = len(part)
	for s := (scanner{b: part}); s.attribute(); {
		n++
		least -= max(0, s.length()-Short)
	}
	return n, least
}

type group struct {
	begin int // what was written before it
	size  int // of its key and its braces
}

// Drop drops the attributes of an object for which a budget has no space, in place, and the groups of which nothing
// is left. The braces of the object itself do not count. It returns the object's new length and how many attributes it dropped.
func Drop(object []byte, budget *Budget) (n, dropped int) {
	var few [16]group
	open := few[:0]
	n = len(`{`)
	budget.Free += len(`,`) // which each attribute counts, but the first one has not
	for s := scan(object); s.scan(); {
		from := s.key
		if object[from-1] == ',' && object[n-1] != '{' {
			from--
		}
		switch s.token {
		case attribute:
			if budget.Keep(s.end-s.key+len(`,`), s.length()) {
				n += copy(object[n:], object[from:s.end])
			} else {
				dropped++
			}
		case groupBegin:
			g := group{n, s.next - s.key + len(`}`)}
			open = append(open, g)
			budget.Open(g.size)
			n += copy(object[n:], object[from:s.next])
		case groupEnd:
			last := len(open) - 1
			if last < 0 {
				s.next = len(object)
				continue
			}
			if g := open[last]; object[n-1] == '{' {
				n = g.begin
				budget.Close(g.size)
			} else {
				n += copy(object[n:], `}`)
			}
			open = open[:last]
		}
	}
	if n == len(`{`) {
		budget.Free -= len(`,`)
	}
	return n + copy(object[n:], `}`), dropped
}

// Object cuts the texts and arrays of an object that are longer than share to share bytes, in place. It returns the
// object's new length and how many values it cut.
func Object(object []byte, share int) (n, cut int) {
	read, write := 0, 0
	for s := scan(object); s.attribute(); {
		if s.length() <= share {
			continue
		}
		write += copy(object[write:], object[read:s.begin])
		value := object[s.begin:s.end]
		if value[0] == '"' {
			write += cutString(object[write:], value, share)
		} else {
			write += cutArray(object[write:], value, share+arrayExtra)
		}
		read = s.end
		cut++
	}
	write += copy(object[write:], object[read:])
	return write, cut
}

// cutString writes a string with its quotes, of which limit bytes between them, to dst, which may begin before the string in the same
// array.
func cutString(dst, s []byte, limit int) int {
	n := copy(dst, s) - len(`"`)
	n = 1 + Text(dst[1:n], limit)
	return n + copy(dst[n:], `"`)
}

// cutArray writes an array of at most limit bytes to dst, which may begin before the array in the same array of
// bytes. Its texts are cut to equal shares, but to no less than [Short]: then the mark takes the place of the last elements.
func cutArray(dst, array []byte, limit int) int {
	var few [32]int
	lengths := few[:0]
	for s := (stringsIn{b: array}); s.next(); {
		lengths = append(lengths, s.length())
	}
	share := max(Short, Share(lengths, limit-len(array)+sum(lengths)))
	read, write := 0, 0
	for s := (stringsIn{b: array}); s.next(); {
		if s.length() > share {
			write += copy(dst[write:], array[read:s.begin])
			write += cutString(dst[write:], array[s.begin:s.end], share)
			read = s.end
		}
	}
	write += copy(dst[write:], array[read:])
	if write > limit {
		write = cutElements(dst[:write], limit)
	}
	return write
}

// cutElements keeps the first elements of an array, in place.
func cutElements(array []byte, limit int) int {
	const end = `"` + Mark + `"]`
	keep := len(`[`)
	for i := keep; i < len(array) && array[i] != ']'; {
		i = jsonscan.Value(array, i) + len(`,`)
		if i+len(end) > limit {
			break
		}
		keep = i
	}
	return keep + copy(array[keep:], end)
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

func (s *stringsIn) length() int { return s.end - s.begin - len(`""`) }
