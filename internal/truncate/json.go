package truncate

import (
	"sort"
	"unicode/utf8"

	"github.com/userevents/userevents-go/internal/jsonscan"
)

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
			if m.long == 0 && m.i-m.key > maxKey {
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

// cutString writes a string with its quotes, of which limit bytes between them.
func cutString(dst, s []byte, limit int) int {
	keep := len(`"`)
	for last := limit - len(Mark) + len(`"`); keep < len(s); {
		next := keep + jsonCharacter(s[keep:])
		if next > last {
			break
		}
		keep = next
	}
	n := copy(dst, s[:keep])
	if limit >= len(Mark) {
		n += copy(dst[n:], Mark)
	}
	return n + copy(dst[n:], `"`)
}

// jsonCharacter returns the length of the first character or escape inside of a string.
func jsonCharacter(s []byte) int {
	if s[0] != '\\' {
		_, size := utf8.DecodeRune(s)
		return size
	}
	const escape, pair = len(`\u0000`), len(`\ud800\udc00`)
	switch {
	case len(s) < 2 || s[1] != 'u':
		return 2
	case len(s) >= pair && (s[2] == 'd' || s[2] == 'D') && s[3] >= '8' && s[escape] == '\\' && s[escape+1] == 'u':
		return pair
	}
	return escape
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

// Members are dropped in the order of these classes.
const (
	remote   = iota // deep in other objects, or behind a key that leaves little room for others
	longText        // a text or array longer than Short
	text            // another one
	number          // everything else
	classes
)

const (
	// maxKey is the length in bytes from which a key is dropped first.
	maxKey = 4 * Short

	// maxDepth is the number of objects around a member from which on it is dropped first, the deepest ones before the others.
	maxDepth = 8

	// last is how many members of a class stay until those before them have been dropped.
	last = 8
)

// dropOrder is the order in which members are dropped: of each class those before the last ones, or all that are left.
var dropOrder = [...]struct {
	class int
	all   bool
}{{remote, true}, {longText, true}, {text, false}, {number, false}, {text, true}, {number, true}}

// window is which members of a class are dropped, by their numbers.
type window struct{ from, to int }

// Drop removes members of an object, in place, so that at least need bytes are saved when [Object] has
// cut long texts as far as it can. Objects that have no members left are removed too. It returns the object's new
// length and how many members it dropped.
func Drop(object []byte, need int) (n, dropped int) {
	var counts [classes]int
	total := 0
	for m := (members{b: object}); m.next(); {
		c, _ := m.class()
		counts[c]++
		total++
	}
	// Which bytes a member saves depends on the others: braces and the key of an object go with its last member.
	dropped = sort.Search(total, func(n int) bool { return sizeWithout(object, windows(&counts, n)) <= len(object)-need })
	w := windows(&counts, dropped)
	return remove(object, &w), dropped
}

// windows returns which members are dropped if there are n of them.
func windows(counts *[classes]int, n int) (w [classes]window) {
	for c, count := range counts {
		w[c].from = max(0, count-last)
		if c == remote {
			w[c].from = count
		}
		w[c].to = w[c].from
	}
	for _, step := range dropOrder {
		c := &w[step.class]
		before := min(n, c.from)
		c.from -= before
		n -= before
		if step.all {
			behind := min(n, counts[step.class]-c.to)
			c.to += behind
			n -= behind
		}
	}
	return w
}

// sizeWithout returns the length that [remove] would leave, with long texts cut as far as they can be.
func sizeWithout(object []byte, windows [classes]window) int {
	type state struct {
		size  int
		first bool // no member was written yet
	}
	var few [16]state
	open := few[:0]
	var seen [classes]int
	now, read := state{len(`{`), true}, len(`{`)
	between := func(end int) {
		for ; read < end; read++ {
			switch object[read] {
			case '"': // the key of an object
				key := read
				read = jsonscan.String(object, read) + len(`:{`) - 1
				open = append(open, now)
				now = state{now.size + commaLen(now.first) + read + 1 - key, true}
			case '}':
				if n := len(open); n > 0 {
					if now.first {
						now = open[n-1]
					} else {
						now.size++
					}
					open = open[:n-1]
				}
			}
		}
	}
	for m := (members{b: object}); m.next(); {
		c, shrinks := m.class()
		i := seen[c]
		seen[c]++
		between(m.key)
		read = m.end
		if w := windows[c]; i < w.from || i >= w.to {
			now = state{now.size + commaLen(now.first) + m.end - m.key - shrinks, false}
		}
	}
	between(len(object) - 1)
	return now.size + len(`}`)
}

// commaLen returns the length of the comma before a member.
func commaLen(first bool) int {
	if first {
		return 0
	}
	return len(`,`)
}

// class returns the class of a member, and by how much it shrinks if its value is long and is cut.
func (m *members) class() (class, shrinks int) {
	length := m.length()
	if length > Short {
		shrinks = length - len(Mark)
	}
	switch first := m.b[m.begin]; {
	case m.begin-m.key > maxKey || m.long > 0 || m.depth > maxDepth:
		return remote, shrinks
	case length > Short:
		return longText, shrinks
	case first == '"' || first == '[':
		return text, 0
	}
	return number, 0
}

// remove removes the members of each class that are in its window.
func remove(object []byte, windows *[classes]window) int {
	var few [16]int
	open := few[:0] // where the members begin whose objects are open
	var seen [classes]int
	write := copy(object, `{`)
	read := write
	for m := (members{b: object}); m.next(); {
		c, _ := m.class()
		i := seen[c]
		seen[c]++
		write, open = moveBraces(object, write, read, m.key, open)
		read = m.end
		if w := windows[c]; i < w.from || i >= w.to {
			write = comma(object, write)
			write += copy(object[write:], object[m.key:m.end])
		}
	}
	write, _ = moveBraces(object, write, read, len(object)-1, open)
	return write + copy(object[write:], `}`)
}

// moveBraces writes what is between two members: the ends and the beginnings of objects.
func moveBraces(b []byte, write, read, end int, open []int) (int, []int) {
	for read < end {
		switch b[read] {
		case '"': // the key of an object
			key := read
			read = jsonscan.String(b, read) + len(`:{`)
			open = append(open, write)
			write = comma(b, write)
			write += copy(b[write:], b[key:read])
			continue
		case '}':
			if n := len(open); n > 0 {
				if b[write-1] == '{' {
					write = open[n-1]
				} else {
					write += copy(b[write:], `}`)
				}
				open = open[:n-1]
			}
		}
		read++
	}
	return write, open
}

// comma writes a comma if a member comes before.
func comma(b []byte, write int) int {
	if b[write-1] != '{' {
		b[write] = ','
		write++
	}
	return write
}

// Fit makes an object fit a limit in bytes, in place: at least 2, the length of {}. It returns the object's new length
// and how many values it cut or dropped.
func Fit(object []byte, limit int) (n, truncated int) {
	n = len(object)
	if n <= limit {
		return n, 0
	}
	lengths := AppendLengths(nil, object)
	skeleton := n - sum(lengths)
	whole, cut, fits := Divide(lengths, limit-skeleton)
	if !fits {
		var dropped int
		n, dropped = Drop(object, n-limit)
		lengths = AppendLengths(lengths[:0], object[:n])
		whole, cut, _ = Divide(lengths, limit-(n-sum(lengths)))
		truncated += dropped
	}
	n, cutCount := Object(object[:n], whole, cut)
	return n, truncated + cutCount
}

func sum(lengths []int) (total int) {
	for _, n := range lengths {
		total += n
	}
	return total
}
