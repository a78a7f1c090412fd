package perfdata

// leastAttr is the size of struct perf_event_attr in its first version.
const leastAttr = 64

// addEvent adds an event, struct perf_event_attr, and the ids of its records.
func (r *Reader) addEvent(attr, ids []byte) error {
	flags := order.Uint64(attr[40:])
	l := &layout{
		sampleType: order.Uint64(attr[24:]), sampleIDAll: flags&attrSampleIDAll != 0, number: order.Uint64(attr[8:]),
	}
	l.tracepoint = order.Uint32(attr) == typeTracepoint && l.sampleType&sampleRaw != 0
	if l.tracepoint && l.sampleType&sampleRead != 0 {
		return malformed("its records have counts of groups (record without -s and :S)")
	}
	if r.any == nil {
		r.any = l
		if flags&attrUseClockID != 0 && len(attr) >= clockIDAt+4 {
			r.recordClock = order.Uint32(attr[clockIDAt:])
		}
		r.setClock()
	} else if len(r.layouts) == 0 {
		return malformed("its records do not say which event they are of")
	}
	if !l.sameIDs(r.any) {
		return malformed("its events have records of different layouts")
	}
	for ; len(ids) >= 8; ids = ids[8:] {
		r.layouts[order.Uint64(ids)] = l
	}
	if !l.tracepoint {
		return nil
	}
	return r.resolve(l)
}

// addFeature adds what a file says about its machine.
func (r *Reader) addFeature(id uint64, b []byte) {
	if id == featureClockData && len(b) >= 24 { // u32 version, clock; u64 time of day, time of the clock
		r.wallClock = order.Uint32(b[4:])
		r.wallOffset = int64(order.Uint64(b[8:]) - order.Uint64(b[16:]))
		r.setClock()
	}
}

// Clock is the clock of a file's records.
type Clock struct {
	Monotonic bool // it is CLOCK_MONOTONIC; else it orders the records, and Event.Monotonic is its time
	WallTime  bool // the file says what time of day it was; else Event.Time is as if the clock had started in 1970
}

// noClock is the number of a clock that the file does not say. That of records is then the kernel's own, near CLOCK_MONOTONIC.
const noClock = ^uint32(0)

// setClock sets the clock to that of the first event, if there is one. All events of a recording have the same.
func (r *Reader) setClock() {
	if r.any == nil {
		return
	}
	r.clock = Clock{Monotonic: r.recordClock == clockMonotonic, WallTime: r.wallClock != noClock && r.wallClock == r.recordClock}
	r.offset = 0 // or the file knows the time of day of another clock
	if r.clock.WallTime {
		r.offset = r.wallOffset
	}
}
