// Package truncationtest has records that are too large, and what must be left of them. The tests of all adapters and
// encodings share it, since they promise the same: numbers, ids and short texts survive, the longest texts are cut to equal shares, and the
// record says how many values were cut.
package truncationtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/internal/text"
)

const (
	// short is the length in bytes up to which a text is cut only where longer ones leave no room for it.
	short = 64
	// escape is the length of the longest escape or character, between two of which a text is cut.
	escape = 6
	// unused is the part of the limit that a record may leave unused although it was cut.
	unused = 20
)

// Record is a record as it was decoded, with the escapes of its texts undone.
type Record struct {
	Message string
	// Attributes are the bound ones and those of the record. A group is a map, a list a []any, a number a [json.Number] or int64.
	Attributes map[string]any
	Truncated  int // what the record says
	Size       int // of the payload

	EventHeader bool // the encoding
}

// Check returns nil if the record is what must be left of c under the limit, or else all that is wrong with it.
func (c *Case) Check(limit int, r *Record) error {
	fits := c.Fits
	if r.EventHeader {
		fits = c.FitsEventHeader
	}
	k := checker{crowded: limit < fits, survivors: Survivors()}
	k.text("message", c.Message, r.Message)
	k.members("", slices.Concat(c.Bound, c.Attrs), r.Attributes)
	for _, s := range k.whole {
		if len(k.cut) > 0 && s.size > max(short, slices.MaxFunc(k.cut, bySize).size+escape) {
			k.errorf("%s has %d bytes and was not cut, but %s was cut to %d", s.path, s.size, k.cut[0].path, k.cut[0].size)
		}
	}
	if len(k.cut) > 0 {
		least, most := slices.MinFunc(k.cut, bySize), slices.MaxFunc(k.cut, bySize)
		if most.size-least.size > escape {
			k.errorf("%s was cut to %d bytes, %s to %d: the shares are not equal", least.path, least.size, most.path, most.size)
		}
	}
	// An array may count as one value, or each of its texts.
	lost := len(k.cut) + k.missing
	if r.Truncated > lost || r.Truncated < lost-k.more {
		k.errorf("truncated is %d, but %d values were cut or dropped", r.Truncated, lost)
	}
	if r.Size > limit {
		k.errorf("the payload has %d bytes, more than %d", r.Size, limit)
	}
	// A share is a whole number of bytes.
	if least := limit - limit/unused - len(k.cut); lost > 0 && r.Size < least {
		k.errorf("the payload has %d bytes of %d, although something was cut", r.Size, limit)
	}
	return errors.Join(k.errs...)
}

type checker struct {
	errs       []error
	whole, cut []sized
	missing    int
	more       int  // texts that were cut beyond the first one of their array
	crowded    bool // there is no room for all keys
	survivors  []Attr
}

// sized is a text that is left.
type sized struct {
	path string
	size int // in the record, with escapes
}

func bySize(a, b sized) int { return a.size - b.size }

func (k *checker) errorf(format string, args ...any) {
	k.errs = append(k.errs, fmt.Errorf(format, args...))
}

// members compares the attributes of a record or a group.
func (k *checker) members(path string, want []Attr, got map[string]any) {
	keys := make(map[string]bool, len(want))
	var texts, numbers drops
	for _, a := range want {
		keys[a.Key] = true
		v, ok := got[a.Key]
		if !ok {
			k.missing++
		}
		if k.survives(a) || !k.crowded {
			if !ok {
				k.errorf("%s%s is missing", path, a.Key)
				continue
			}
		} else if _, number := a.Value.(int64); number {
			numbers.add(a.Key, !ok)
		} else {
			texts.add(a.Key, !ok)
		}
		if !ok {
			continue
		}
		cut := len(k.cut)
		k.value(path+a.Key, a.Value, v)
		if len(k.cut) > cut && k.survives(a) {
			k.errorf("%s%s was cut", path, a.Key)
		}
	}
	for key := range got {
		if !keys[key] {
			k.errorf("%s%s was not logged", path, key)
		}
	}
	for _, d := range []drops{texts, numbers} {
		if d.runs > 1 {
			k.errorf("%s%s is missing, and others before it, but not all between them", path, d.last)
		}
	}
	if numbers.runs > 0 && texts.kept {
		k.errorf("%s%s is missing, a number, but not all texts are", path, numbers.last)
	}
}

// drops are the attributes of one kind that were dropped. They stand together.
type drops struct {
	runs int
	last string // that was dropped
	kept bool   // one of them at least
	in   bool   // the one before was dropped
}

func (d *drops) add(key string, dropped bool) {
	if dropped {
		d.last = key
		if !d.in {
			d.runs++
		}
	} else {
		d.kept = true
	}
	d.in = dropped
}

func (k *checker) survives(a Attr) bool {
	return slices.ContainsFunc(k.survivors, func(s Attr) bool { return s.Key == a.Key })
}

func (k *checker) value(path string, want, got any) {
	switch want := want.(type) {
	case string:
		k.text(path, want, got)
	case error:
		k.text(path, want.Error(), got)
	case int64:
		switch got.(type) {
		case json.Number, int64:
		default:
			k.errorf("%s is a %T", path, got)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			k.errorf("%s is %v, not %d", path, got, want)
		}
	case []string:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			k.errorf("%s is %.100v, no list of %d", path, got, len(want))
			return
		}
		cut := len(k.cut)
		for i := range want {
			k.text(fmt.Sprintf("%s[%d]", path, i), want[i], list[i])
		}
		k.more += max(0, len(k.cut)-cut-1)
	case Group:
		members, ok := got.(map[string]any)
		if !ok {
			k.errorf("%s is %.100v, no group", path, got)
			return
		}
		k.members(path+".", want, members)
	default:
		k.errorf("%s: no attribute has a %T", path, want)
	}
}

// text compares a text with what is left of it.
func (k *checker) text(path, want string, got any) {
	s, ok := got.(string)
	if !ok {
		k.errorf("%s is %.100v, no text", path, got)
		return
	}
	written, _ := text.Append(nil, s, math.MaxInt)
	size := sized{path, len(written)}
	head, marked := strings.CutSuffix(s, text.CutMark)
	switch {
	case s == want:
		k.whole = append(k.whole, size)
	case marked && strings.HasPrefix(want, head):
		k.cut = append(k.cut, size)
	default:
		k.errorf("%s is %.100q, no beginning of %.100q with the mark", path, s, want)
	}
}
