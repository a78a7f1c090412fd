package record

import (
	"github.com/userevents/userevents-go/tracepoint"
)

// Copies finds the copies of log records that a program wrote to two events: first to the event of their declaration, then to the
// event of their level. A reader.Reader omits copies itself; Copies is for records of other origins, such as a file. The zero Copies is
// ready to use.
type Copies struct {
	originals map[originalKey]Original // those that were passed without their copy
	order     []originalKey            // of passing; the oldest is at next
	next      int
}

// Original is what Copies keeps of a record that may have a copy.
type Original struct {
	Event    string // its tracepoint
	Selected bool   // as Copies.Add was told
	n        int    // how many have its key
}

// originalKey identifies a record that may have a copy: by its process and the record's own time. Its goroutine may have gone on in
// another thread.
type originalKey struct {
	pid  int32
	time int64
}

// maxOriginals is how many records of all processes may come between a record and its copy, apart from copies.
const maxOriginals = 16384

// IsCopy reports whether rec is the copy of a record that was passed before. Records must be passed in the order in which they were
// written.
func (c *Copies) IsCopy(rec *Record) bool {
	c.Add(rec, true)
	_, isCopy := c.Original(rec)
	return isCopy
}

// Original returns the record that rec is the copy of, and forgets it. Add must have been called with it.
func (c *Copies) Original(rec *Record) (Original, bool) { // inlined for most records
	if !rec.Duplicate || rec.Kind != KindLog {
		return Original{}, false
	}
	return c.forget(originalKey{rec.PID, rec.Timestamp.UnixNano()})
}

// Add notes a record, if it may have a copy. selected is what Original returns of it.
func (c *Copies) Add(rec *Record, selected bool) { // inlined for most records
	if rec.Kind == KindLog && !rec.leveled && !rec.Duplicate {
		c.add(rec, selected)
	}
}

func (c *Copies) add(rec *Record, selected bool) {
	key := originalKey{rec.PID, rec.Timestamp.UnixNano()}
	if c.originals == nil {
		c.originals = map[originalKey]Original{}
	}
	if len(c.order) < maxOriginals {
		c.order = append(c.order, key)
	} else {
		c.forget(c.order[c.next])
		c.order[c.next] = key
		c.next = (c.next + 1) % maxOriginals
	}
	c.originals[key] = Original{rec.Name, selected, c.originals[key].n + 1}
}

func (c *Copies) forget(key originalKey) (Original, bool) {
	o, ok := c.originals[key]
	if o.n--; o.n > 0 {
		c.originals[key] = o
	} else if ok {
		delete(c.originals, key)
	}
	return o, ok
}

// Copied returns a decoder of the copies that records of a declared event can have in the events of their levels, of which CopyNames has the
// names. It is nil if the event is not declared.
func (d *Decoder) Copied() *Decoder {
	switch d.layout {
	case slogDeclared:
		return slogCopy
	case otelDeclared:
		return otelCopy
	default:
		return nil
	}
}

// CopyNames returns the names of the events that can have copies of the records of a declared event: those of the levels of the same program.
func (d *Decoder) CopyNames() (names []string) {
	if d.Copied() == nil {
		return nil
	}
	for i, c := range d.registered {
		if c != '_' {
			continue
		}
		for _, l := range levelSuffixes {
			names = append(names, d.registered[:i]+l.suffix, d.registered[:i]+"_log"+l.suffix)
		}
	}
	return names
}

// Decoders of events of all levels, which tell what copies can be.
var (
	slogCopy = copyDecoder(slogLevel)
	otelCopy = copyDecoder(otelLog)
)

func copyDecoder(l *layout) *Decoder {
	d := &Decoder{system: tracepoint.System, layout: l}
	for _, name := range l.numbers {
		d.format.Fields = append(d.format.Fields, tracepoint.FormatField{Name: name, Type: tracepoint.Scalar(tracepoint.S64), Size: 8})
	}
	for _, name := range l.texts {
		d.format.Fields = append(d.format.Fields, tracepoint.FormatField{Name: name, Type: tracepoint.Dynamic(tracepoint.Char), Size: 4})
	}
	return d
}
