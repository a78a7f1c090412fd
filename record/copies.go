package record

import (
	"github.com/userevents/userevents-go/tracepoint"
)

// Copies finds the copies of log records that a program wrote to two events: first to the event of their declaration, then to the
// event of their level. [Reader] omits copies itself; Copies is for records of other origins, such as a file. The zero Copies is ready
// to use.
type Copies struct {
	originals map[original]int // how many were passed without their copy
	order     []original       // of passing; the oldest is at next
	next      int
}

// original identifies a record that may have a copy: by its process and the record's own time. Its goroutine may have gone on in
// another thread.
type original struct {
	pid  int32
	time int64
}

// maxOriginals is how many records of all processes may come between a record and its copy, apart from copies.
const maxOriginals = 16384

// IsCopy reports whether rec is the copy of an event that was passed before. Events must be passed in the order in which they were
// written.
func (c *Copies) IsCopy(rec *Record) bool {
	if rec.Kind != KindLog || rec.leveled && !rec.Duplicate {
		return false
	}
	key := original{rec.PID, rec.Timestamp.UnixNano()}
	if rec.Duplicate {
		return c.forget(key)
	}
	if c.originals == nil {
		c.originals = map[original]int{}
	}
	if len(c.order) < maxOriginals {
		c.order = append(c.order, key)
	} else {
		c.forget(c.order[c.next])
		c.order[c.next] = key
		c.next = (c.next + 1) % maxOriginals
	}
	c.originals[key]++
	return false
}

func (c *Copies) forget(key original) bool {
	n := c.originals[key]
	switch {
	case n > 1:
		c.originals[key] = n - 1
	case n == 1:
		delete(c.originals, key)
	}
	return n > 0
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
