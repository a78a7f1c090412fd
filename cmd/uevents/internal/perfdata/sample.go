package perfdata

import "math/bits"

// sample is a record of an event. Its slices share the memory of the record, except for the call chain.
type sample struct {
	time      uint64
	pid, tid  int32
	cpu       int // -1 if unknown
	cgroup    uint64
	callchain []uint64
	raw       []byte
}

// sameIDs reports whether records of both layouts have their ids at the same position.
func (l *layout) sameIDs(m *layout) bool {
	if l.sampleType&m.sampleType&sampleIdentifier != 0 {
		return l.sampleIDAll == m.sampleIDAll
	}
	return l.sampleType == m.sampleType && l.sampleIDAll == m.sampleIDAll
}

// fieldsBefore returns the number of bytes before a field in a sample.
func (l *layout) fieldsBefore(field uint64) int {
	if field == sampleIdentifier {
		return 0
	}
	n := bits.OnesCount64(l.sampleType & sampleIdentifier)
	for _, f := range [...]uint64{sampleIP, sampleTID, sampleTime, sampleAddr, sampleID, sampleStreamID, sampleCPU, samplePeriod, sampleRead} {
		if f == field {
			break
		}
		n += bits.OnesCount64(l.sampleType & f)
	}
	return 8 * n
}

// trailing returns the distance of a field from the end of a record that is not a sample, or 0 if there is no such
// field.
func (l *layout) trailing(field uint64) int {
	n := 0
	for _, f := range [...]uint64{sampleIdentifier, sampleCPU, sampleStreamID, sampleID, sampleTime, sampleTID} {
		n += 8 * bits.OnesCount64(l.sampleType&f)
		if f == field && l.sampleIDAll && l.sampleType&f != 0 {
			return n
		}
	}
	return 0
}

// id returns the id of a record's event, or 0 if it has none.
func (l *layout) id(rec record) uint64 {
	field := uint64(sampleIdentifier)
	if l.sampleType&field == 0 {
		field = sampleID
	}
	return l.common(rec, field)
}

// common returns a field that all records have.
func (l *layout) common(rec record, field uint64) uint64 {
	body := rec.body()
	if rec.kind() == typeSample {
		if at := l.fieldsBefore(field); l.sampleType&field != 0 && at+8 <= len(body) {
			return order.Uint64(body[at:])
		}
		return 0
	}
	if n := l.trailing(field); n > 0 && n <= len(body) {
		return order.Uint64(body[len(body)-n:])
	}
	return 0
}

// parse parses a sample with raw data. It stores the addresses of its stack in the memory of chain.
func (l *layout) parse(rec record, chain []uint64) (s sample, ok bool) {
	body := rec.body()
	word := func(field uint64) uint64 {
		if l.sampleType&field == 0 {
			return 0
		}
		return order.Uint64(body[l.fieldsBefore(field):])
	}
	if len(body) < l.fieldsBefore(sampleRead) {
		return s, false
	}
	s.time = word(sampleTime)
	s.cpu = -1
	if l.sampleType&sampleTID != 0 {
		at := body[l.fieldsBefore(sampleTID):]
		s.pid, s.tid = int32(order.Uint32(at)), int32(order.Uint32(at[4:]))
	}
	if l.sampleType&sampleCPU != 0 {
		if s.cpu = int(int32(order.Uint32(body[l.fieldsBefore(sampleCPU):]))); s.cpu < 0 {
			s.tid = 0 // that of threadOf
		}
	}
	c := &cursor{b: body[l.fieldsBefore(sampleRead):]}
	if l.sampleType&sampleCallchain != 0 {
		s.callchain = c.callchain(chain[:0])
	}
	s.raw = c.take(uint64(c.u32()))
	if l.sampleType&sampleCgroup != 0 && l.sampleType&sampleAfterRaw == 0 {
		s.cgroup = c.u64()
	}
	return s, !c.bad
}

// callchain reads a stack, and appends the user's part of it.
func (c *cursor) callchain(addrs []uint64) []uint64 {
	user := false
	for n := c.u64(); n > 0 && !c.bad; n-- {
		switch addr := c.u64(); {
		case addr >= contextMax:
			user = addr == contextUser
		case user && !c.bad:
			addrs = append(addrs, addr)
		}
	}
	return addrs
}
