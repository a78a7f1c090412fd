package reader

import "github.com/userevents/userevents-go/uevents/perf"

// Snapshot calls f with each record that is in the rings, was not in a Snapshot before, and is selected, in order of
// time. It needs Options.Overwrite, and takes the place of Next. The event is valid during the call of f; when f returns
// an error, Snapshot returns it, and drops the records left.
//
// The kernel writes no records while a ring is copied, about 100 us for 1 MiB; those count as lost.
func (r *Reader) Snapshot(f func(*Event) error) error {
	r.deliverNotices()
	var ev Event
	return r.session.Snapshot(func(rec *perf.Record) error {
		r.record = *rec
		if rec.Kind != perf.Sample {
			r.updateTasks()
			return nil
		}
		if selected, err := r.take(&ev); !selected || err != nil {
			return err
		}
		return f(&ev)
	})
}
