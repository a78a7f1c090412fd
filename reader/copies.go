package reader

import "time"

// Copies finds the second records of log records that were written to two events: to that of their declaration, and then,
// by the same thread, to that of their level. [Reader] leaves them out; Copies is for records from elsewhere, such as
// from a file. The zero Copies is ready to use.
type Copies struct {
	originals map[int32]time.Time // by thread: the time in its last log record that is no copy
}

// maxThreads is how many threads are known to have written records that may have a copy.
const maxThreads = 4096

// IsCopy reports whether ev is the copy of the last event of its thread that IsCopy was called with. Events must come in
// the order in which they were written.
func (c *Copies) IsCopy(ev *Event) bool {
	if ev.Kind != Log {
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
