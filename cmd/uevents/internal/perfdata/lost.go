package perfdata

import (
	"maps"
	"slices"
	"time"
)

// losses are the lost records that the file has counts of. The kernel counts them twice since Linux 6.0: for a ring, when
// there is room again (typeLost), and for an event, which perf record reads and adds at the end (typeLostSamples).
type losses struct {
	ofRings  uint64            // said by Reader.Lost
	ofEvents map[string]uint64 // by name
}

// lost learns from a record about losses.
func (r *Reader) lost(rec record) error {
	c := &cursor{b: rec.body()}
	if rec.kind() == typeLostSamples { // u64 lost
		if n := c.u64(); n > 0 && rec.misc()&miscLostSamplesBPF == 0 {
			if r.losses.ofEvents == nil {
				r.losses.ofEvents = map[string]uint64{}
			}
			r.losses.ofEvents[r.layoutOf(rec).fullName()] += n
		}
		return nil
	}
	id, n := c.u64(), c.u64() // u64 id, lost
	if n == 0 {
		return nil
	}
	r.losses.ofRings += n
	l := r.any
	if len(r.layouts) > 0 {
		l = r.layouts[id]
	}
	return r.sayLost(l.fullName(), n, rec.time)
}

// lostSamples says, at the end of the file, what events lost beside what was lost of their rings.
func (r *Reader) lostSamples() error {
	said := r.losses.ofRings
	for _, name := range slices.Sorted(maps.Keys(r.losses.ofEvents)) {
		n := r.losses.ofEvents[name]
		delete(r.losses.ofEvents, name)
		again := min(n, said)
		said -= again
		if n == again {
			continue
		}
		if err := r.sayLost(name, n-again, r.queue.newest); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) sayLost(name string, n, at uint64) error {
	if r.Lost == nil {
		return nil
	}
	return r.Lost(name, n, time.Unix(0, int64(at)+r.offset))
}

// fullName returns SYSTEM:NAME, and nothing for events that are no tracepoints.
func (l *layout) fullName() string {
	if l == nil || l.decoder == nil {
		return ""
	}
	return l.system + ":" + l.name
}
