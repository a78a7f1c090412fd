package reader

import (
	"fmt"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/perf"
)

// Snapshot calls f with each selected record in the rings that no earlier Snapshot has read, in order of time. It
// requires [ReadSnapshot], and replaces Next. Each event is in an Event of its own, which f may keep; with
// [DecodeOptions].Reuse all are in one Event. If f returns an error, Snapshot returns it, and drops the remaining records.
//
// Programs write meanwhile, and lose nothing: the next Snapshot reads their new records.
func (r *Reader) Snapshot(f func(*Event) error) error {
	if f == nil {
		return fmt.Errorf("reader: Snapshot needs a function: %w", errno.EINVAL)
	}
	r.deliverNotices()
	ev := new(Event)
	return r.session.Snapshot(func(rec *perf.Record) error {
		r.record = *rec
		if rec.Kind != perf.Sample {
			r.updateTasks()
			return nil
		}
		if selected, err := r.take(ev); !selected || err != nil {
			return err
		}
		taken := ev
		if !r.o.Decode.Reuse {
			ev = new(Event)
		}
		return f(taken)
	})
}
