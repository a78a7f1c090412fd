package reader

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

// IsCopy reports whether ev is the copy of an event that was passed before. Events must be passed in the order in which they were
// written.
func (c *Copies) IsCopy(ev *Event) bool {
	if ev.Kind != KindLog || ev.leveled && !ev.Duplicate {
		return false
	}
	key := original{ev.PID, ev.Timestamp.UnixNano()}
	if ev.Duplicate {
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

// planFor returns where Options.Where is evaluated on the records of an event. A declared record and its copy in the event of its level are
// one record, and the first decides. If copies are read, too, the Reader sees all declared records: else it would take the copy of one that
// the kernel has dropped.
func (r *Reader) planFor(d *Decoder) ConditionPlan {
	plan := r.o.Where.Plan(d, !r.noTexts)
	copied := map[*layout]*Decoder{slogDeclared: slogCopy, otelDeclared: otelCopy}[d.layout]
	switch {
	case copied == nil, r.o.Read == ReadCounts, !plan.Never && plan.Kernel == "", !r.readsCopies(d.registered):
		return plan
	case plan.Never && r.o.Where.Plan(copied, false).Never:
		return plan
	}
	return ConditionPlan{Reader: []string{r.o.Where.String()}}
}

// readsCopies reports whether the options select an event that has the copies of a declared record: that of a level of the same program.
func (r *Reader) readsCopies(name string) bool {
	for i := range name {
		if name[i] != '_' {
			continue
		}
		for _, l := range levelSuffixes {
			if r.selection.wants(tracepoint.System, name[:i]+l.suffix) || r.selection.wants(tracepoint.System, name[:i]+"_log"+l.suffix) {
				return true
			}
		}
	}
	return false
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
