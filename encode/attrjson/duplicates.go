package attrjson

import (
	"bytes"
	"slices"

	"github.com/userevents/userevents-go/internal/jsonscan"
)

// Duplicates says what becomes of members with the same key in the same object.
type Duplicates uint8

const (
	// KeepAll writes all of them, in order. It costs nothing. The output is
	// valid JSON, but receivers differ in what they make of it: most take
	// the last, some the first, some refuse it.
	KeepAll Duplicates = iota

	// KeepLast removes all but the last, in nested objects too but not inside arrays.
	// Groups of the same name are not merged: the last one wins as a whole. A
	// member that is removed does not count as dropped.
	KeepLast
)

// maxNesting is the depth to which duplicates are looked for. It is far beyond
// what loggers nest, and bounds the recursion.
const maxNesting = 100

// keepLast removes duplicates from the object that b holds, in place, and returns the new length.
func keepLast(b []byte) int {
	c := compactor{b: b}
	c.object(0)
	return c.w
}

// compactor moves an object towards the start of its own buffer, token by token, so
// that written bytes never overtake what is still to be read.
type compactor struct {
	b    []byte
	r, w int // next byte to read, next byte to write
}

// member is a member that was written: its key is b[start:key], and with its
// value and a comma it goes up to where the next begins.
type member struct{ start, key int }

func (c *compactor) object(depth int) {
	members := make([]member, 0, 32)
	c.move(c.r + len(`{`))
	for c.r < len(c.b) && c.b[c.r] != '}' {
		end := jsonscan.String(c.b, c.r)
		members = c.remove(members, c.b[c.r:end])
		m := member{start: c.w}
		c.move(end)
		m.key = c.w
		members = append(members, m)
		c.move(c.r + len(`:`))
		if c.r < len(c.b) && c.b[c.r] == '{' && depth < maxNesting {
			c.object(depth + 1)
		} else {
			c.move(jsonscan.Value(c.b, c.r))
		}
		if c.r < len(c.b) && c.b[c.r] == ',' {
			c.move(c.r + len(`,`))
		}
	}
	c.move(c.r + len(`}`))
}

// remove removes the member with the given key from what was written. There is one at most. Its
// comma is written already, since a further member is about to come.
func (c *compactor) remove(members []member, key []byte) []member {
	for i, m := range members {
		if !bytes.Equal(c.b[m.start:m.key], key) {
			continue
		}
		next := c.w
		if i+1 < len(members) {
			next = members[i+1].start
		}
		copy(c.b[m.start:], c.b[next:c.w])
		n := next - m.start
		c.w -= n
		members = slices.Delete(members, i, i+1)
		for j := i; j < len(members); j++ {
			members[j].start -= n
			members[j].key -= n
		}
		break
	}
	return members
}

// move moves everything before position to.
func (c *compactor) move(to int) {
	to = min(to, len(c.b))
	c.w += copy(c.b[c.w:], c.b[c.r:to])
	c.r = to
}
