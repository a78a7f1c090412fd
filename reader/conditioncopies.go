package reader

import (
	"github.com/userevents/userevents-go/tracepoint"
)

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
