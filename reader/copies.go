package reader

import "time"

// Copies finds the copies of log records that a program wrote to two events: first to the event of their declaration,
// then, on the same thread, to the event of their level. [Reader] omits copies itself; Copies is for records of other
// origins, such as a file. The zero Copies is ready to use.
type Copies struct {
	originals map[int32]time.Time // by thread: the time in its last log record that is not a copy
}

// maxThreads is how many threads Copies tracks.
const maxThreads = 4096

// IsCopy reports whether ev is the copy of the event that the same thread passed last. Events must be passed in the
// order in which they were written.
func (c *Copies) IsCopy(ev *Event) bool {
	if ev.Kind != KindLog || ev.leveled && !ev.Duplicate {
		return false
	}
	if ev.Duplicate {
		at, ok := c.originals[ev.TID]
		delete(c.originals, ev.TID)
		return ok && at.Equal(ev.Timestamp)
	}
	if c.originals == nil || len(c.originals) >= maxThreads {
		c.originals = map[int32]time.Time{}
	}
	c.originals[ev.TID] = ev.Timestamp
	return false
}
