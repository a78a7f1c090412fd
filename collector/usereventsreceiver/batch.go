package usereventsreceiver

import "time"

// batch describes the data of one signal that the converter has.
type batch struct {
	records int
	since   time.Time      // when the first record was converted
	counts  map[string]int // records by event, without the last ones
	event   string         // of the last ones
	run     int            // number of the last ones
}

// add notes that the converter has more records of an event.
func (b *batch) add(event string, n int) {
	if b.records == 0 {
		b.since = time.Now()
	}
	b.records += n
	if event != b.event {
		b.flush()
		b.event = event
	}
	b.run += n
}

// addOwn notes that the converter has n more records. At most own of them belong to an event.
func (b *batch) addOwn(event string, own, n int) {
	if own = min(own, n); own > 0 {
		b.add(event, own)
	}
	if n > own {
		b.add("", n-own)
	}
}

func (b *batch) flush() {
	if b.run == 0 {
		return
	}
	if b.counts == nil {
		b.counts = map[string]int{}
	}
	b.counts[b.event] += b.run
	b.run = 0
}

// events returns the number of records of each event.
func (b *batch) events() map[string]int {
	b.flush()
	return b.counts
}

func (b *batch) reset() {
	clear(b.counts)
	b.records, b.run, b.event = 0, 0, ""
}

// due returns when the batch is to be delivered, or the zero time if it is empty.
func (b *batch) due(timeout time.Duration) time.Time {
	if b.records == 0 {
		return time.Time{}
	}
	return b.since.Add(timeout)
}
