// Package truncationtest has records that are too large, and checks what is left of them by the rule of package
// truncate. The tests of all adapters and encodings share it.
package truncationtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/truncate"
)

const (
	// escape is the length of the longest escape or character, between two of which a text is cut.
	escape = 6
	// unused is the part of the limit that a record may leave unused although a text was cut.
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
	k := checker{eventHeader: r.EventHeader}
	k.text("message", c.Message, r.Message)
	k.values = len(k.cut)
	k.members("", slices.Concat(c.Bound, c.Attrs), r.Attributes)
	for _, s := range k.whole {
		if len(k.cut) > 0 && s.size > slices.MaxFunc(k.cut, bySize).size+escape {
			k.errorf("%s has %d bytes and was not cut, but %s was cut to %d", s.path, s.size, k.cut[0].path, k.cut[0].size)
		}
	}
	if len(k.cut) > 0 {
		least, most := slices.MinFunc(k.cut, bySize), slices.MaxFunc(k.cut, bySize)
		if most.size-least.size > escape {
			k.errorf("%s was cut to %d bytes, %s to %d: the shares are not equal", least.path, least.size, most.path, most.size)
		}
		if least.size <= truncate.Short-escape {
			k.errorf("%s was cut to %d bytes", least.path, least.size)
		}
	}
	if r.Size > limit {
		k.errorf("the payload has %d bytes, more than %d", r.Size, limit)
	}
	// A share is a whole number of bytes.
	if least := limit - limit/unused - len(k.cut); len(k.cut) > 0 && r.Size < least {
		k.errorf("the payload has %d bytes of %d, although something was cut", r.Size, limit)
	}
	dropped := k.checkDropped(limit, r.Size)
	if lost := k.values + dropped; r.Truncated != lost {
		k.errorf("truncated is %d, but %d values were cut or dropped", r.Truncated, lost)
	}
	return errors.Join(k.errs...)
}

// checkDropped checks that each attribute which was dropped does not fit behind those that are left of those before
// it. It returns how many were dropped.
func (k *checker) checkDropped(limit, size int) (dropped int) {
	for _, s := range slices.Concat(k.whole, k.cut) {
		size -= max(0, s.size-truncate.Short)
	}
	for _, l := range slices.Backward(k.leaves) {
		if !l.dropped {
			size -= l.size
			continue
		}
		dropped++
		if size+l.size <= limit {
			k.errorf("%s was dropped, although %d bytes of %d are free without those behind it", l.path, limit-size, limit)
		}
	}
	return dropped
}

type checker struct {
	eventHeader bool
	errs        []error
	whole, cut  []sized // texts
	values      int     // that were cut, also arrays
	leaves      []leaf  // attributes, also of groups
}

type sized struct {
	path string
	size int // in the record, with escapes
}

func bySize(a, b sized) int { return a.size - b.size }

// leaf is an attribute that is no group.
type leaf struct {
	sized   // with a text or an array cut to Short bytes
	dropped bool
}

func (k *checker) errorf(format string, args ...any) {
	k.errs = append(k.errs, fmt.Errorf(format, args...))
}

func (k *checker) members(path string, want []Attr, got map[string]any) {
	keys := make(map[string]bool, len(want))
	for _, a := range want {
		keys[a.Key] = true
		v, ok := got[a.Key]
		if g, group := a.Value.(Group); group {
			members, _ := v.(map[string]any)
			k.members(path+a.Key+".", g, members)
			continue
		}
		k.leaves = append(k.leaves, leaf{sized{path + a.Key, k.size(a)}, !ok})
		if !ok {
			continue
		}
		cut := len(k.cut)
		k.value(path+a.Key, a.Value, v)
		if len(k.cut) > cut {
			k.values++
		}
	}
	for key := range got {
		if !keys[key] {
			k.errorf("%s%s was not logged", path, key)
		}
	}
}

// size returns the size of an attribute with its text or array cut to Short bytes.
func (k *checker) size(a Attr) int {
	n := len(a.Key)
	// The first attribute in a struct that holds those for which another has no place may come with it.
	more := len(k.leaves) / 126 * len("_overflow\x00tn")
	switch v := a.Value.(type) {
	case int64:
		if k.eventHeader {
			return n + len("\x00tf") + 8 + more
		}
		return n + len(`"":,`) + len(fmt.Sprint(v))
	case []string:
		n += truncate.Short
	default:
		n += min(truncate.Short, written(fmt.Sprint(v)))
	}
	if k.eventHeader {
		return n + len("\x00tnn") + more
	}
	return n + len(`"":"",`)
}

func written(s string) int {
	b, _ := text.Append(nil, s, math.MaxInt)
	return len(b)
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
		for i := range want {
			k.text(fmt.Sprintf("%s[%d]", path, i), want[i], list[i])
		}
	default:
		k.errorf("%s: no attribute has a %T", path, want)
	}
}

func (k *checker) text(path, want string, got any) {
	s, ok := got.(string)
	if !ok {
		k.errorf("%s is %.100v, no text", path, got)
		return
	}
	size := sized{path, written(s)}
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

// Object returns the attributes that an object of package attrjson holds, with their escapes undone.
func Object(object string) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(object))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("%w in %s", err, object)
	}
	return unescaped(m).(map[string]any), nil
}

func unescaped(v any) any {
	switch v := v.(type) {
	case string:
		return text.UnescapeJSON(v)
	case []any:
		for i := range v {
			v[i] = unescaped(v[i])
		}
	case map[string]any:
		for key, value := range v {
			v[key] = unescaped(value)
		}
	}
	return v
}

// Fields returns the fields of an event, those included that the encoder had to move to a struct "_overflow".
func Fields(ev *eventheader.Event) (map[string]any, error) {
	var c eventheader.Cursor
	c.Reset(ev)
	m := members(&c)
	return m, c.Err()
}

// members returns the rest of a struct, or of the event.
func members(c *eventheader.Cursor) map[string]any {
	m := map[string]any{}
	for c.Next() && c.Item() != eventheader.ItemStructEnd {
		name, value := string(c.NameBytes()), fieldValue(c)
		if more, ok := value.(map[string]any); ok && name == "_overflow" {
			maps.Copy(m, more)
		} else {
			m[name] = value
		}
	}
	return m
}

func fieldValue(c *eventheader.Cursor) any {
	switch c.Item() {
	case eventheader.ItemStruct:
		return members(c)
	case eventheader.ItemArray:
		list := []any{}
		for c.Next() && c.Item() != eventheader.ItemArrayEnd {
			list = append(list, fieldValue(c))
		}
		return list
	}
	switch v := c.Value(); v.Format() {
	case eventheader.FormatDefault:
		return nil
	case eventheader.FormatUnsigned, eventheader.FormatSigned:
		return int64(v.Uint64())
	case eventheader.FormatBool:
		return v.Uint64() == 1
	case eventheader.FormatFloat:
		return v.Float64()
	case eventheader.FormatHexBytes:
		return bytes.Clone(v.Raw())
	default:
		return text.Unescape(string(v.Text()))
	}
}

// Fit makes an object fit a limit in bytes, in place, as package payload does with one that has a record for itself. It returns
// the object's new length and how many values it cut or dropped.
func Fit(o []byte, limit int) (n, truncated int) {
	if limit = max(limit, len(`{}`)); len(o) <= limit {
		return len(o), 0
	}
	fitted := object(o)
	truncated = truncate.Fit(&fitted, limit)
	return len(fitted), truncated
}

// object is a [truncate.Record] that consists of one object.
type object []byte

func (o *object) Measure(lengths []int) (all []int, size int) {
	return truncate.AppendLengths(lengths, *o), len(*o)
}

func (o *object) Drop(budget *truncate.Budget) (dropped int) {
	budget.Free += len(*o) - len(`{}`)
	n, dropped := truncate.Drop(*o, budget)
	*o = (*o)[:n]
	return dropped
}

func (o *object) Cut(share int) (cut int) {
	n, cut := truncate.Object(*o, share)
	*o = (*o)[:n]
	return cut
}
