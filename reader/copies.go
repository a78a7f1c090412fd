package reader

import (
	"slices"

	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/tracepoint"
)

// planFor returns where Options.Where is evaluated on the records of an event. A declared record and its copy in the event of its level are
// one record, and the first decides. If copies are read, too, the Reader sees all declared records: else it would take the copy of one that
// the kernel has dropped.
func (r *Reader) planFor(d *record.Decoder) where.Plan {
	plan := r.o.Where.Plan(d, !r.noTexts)
	readsCopies := func() bool {
		return slices.ContainsFunc(d.CopyNames(), func(name string) bool { return r.selection.wants(tracepoint.System, name) })
	}
	switch {
	case d.Copied() == nil, r.o.Read == ReadCounts, !plan.Never && plan.Kernel == "", !readsCopies():
		return plan
	case plan.Never && r.o.Where.Plan(d.Copied(), false).Never:
		return plan
	}
	return where.Plan{Reader: []string{r.o.Where.String()}}
}
