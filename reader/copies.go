package reader

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
