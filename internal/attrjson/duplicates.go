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

// member is a member of an object: its key is b[start:key], and with its value and a comma it goes up to end.
type member struct {
	start, key, end int
	gone            bool // a later one has the same key
}

// fewMembers is up to how many members keys are compared one by one, which takes no memory.
const fewMembers = 32

func (c *compactor) object(depth int) {
	var few [fewMembers]member
	members := c.members(few[:0])
	c.mark(members)
	c.move(c.r + len(`{`))
	for i := range members { // the last one stays, so commas are where they have to be
		m := &members[i]
		if m.gone {
			c.r = m.end
			continue
		}
		c.move(m.key + len(`:`))
		if c.r < len(c.b) && c.b[c.r] == '{' && depth < maxNesting {
			c.object(depth + 1)
		}
		c.move(m.end)
	}
	c.move(c.r + len(`}`))
}

func (c *compactor) members(members []member) []member {
	for at := c.r + len(`{`); at < len(c.b) && c.b[at] != '}'; {
		m := member{start: at, key: jsonscan.String(c.b, at)}
		m.end = jsonscan.Value(c.b, m.key+len(`:`))
		if m.end < len(c.b) && c.b[m.end] == ',' {
			m.end += len(`,`)
		}
		members = append(members, m)
		at = m.end
	}
	return members
}

func (c *compactor) mark(members []member) {
	if len(members) > fewMembers {
		seen := make(map[string]int, len(members))
		for i, m := range members {
			key := c.b[m.start:m.key]
			if before, ok := seen[string(key)]; ok {
				members[before].gone = true
			}
			seen[string(key)] = i
		}
		return
	}
	for i := range members {
		m := &members[i]
		m.gone = slices.ContainsFunc(members[i+1:], func(later member) bool {
			return bytes.Equal(c.b[m.start:m.key], c.b[later.start:later.key])
		})
	}
}

// move moves everything before position to.
func (c *compactor) move(to int) {
	to = min(to, len(c.b))
	c.w += copy(c.b[c.w:], c.b[c.r:to])
	c.r = to
}
