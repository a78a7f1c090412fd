package perfetto

// Perfetto nests the slices of a track by time: the end of a slice closes the slice that began last. Slices that
// overlap therefore need separate tracks, and a slice must enclose only its own children. Perfetto draws tracks of one
// process with the same name as one group, with one line for each overlap.
//
// A span is complete when it ends, so children come before their parents. Each trace has its own tracks in each
// process. A span goes to a track on which all slices that overlap with it are its children and within it.

type (
	traceID = [16]byte
	spanID  = [8]byte
)

// Limits of the memory. Beyond them, spans that could share a track get their own.
const (
	maxTraces         = 16384 // in each of two generations
	maxTracksOfTrace  = 32
	maxSlicesOfTracks = 256
	maxSlices         = 1 << 18 // of all tracks in a generation
)

// traceKey identifies a trace in a process, which has its own tracks.
type traceKey struct {
	pid int32
	id  traceID
}

// placed is an outermost slice on a track.
type placed struct {
	begin, end uint64
	parent     spanID
}

// sliceTrack is a track of a trace, with its outermost slices in order of time.
type sliceTrack struct {
	uuid   uint64
	slices []placed
}

// noSpan is the parent of slices that no span may enclose.
var noSpan = spanID{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// nesting chooses tracks for spans.
type nesting struct {
	recent, old map[traceKey][]*sliceTrack
	slices      int                           // on tracks of recent traces
	open        func(pid int32) (uuid uint64) // creates a track
}

func newNesting(open func(pid int32) uint64) *nesting {
	return &nesting{recent: map[traceKey][]*sliceTrack{}, open: open}
}

// place returns the track for a span. The times are in nanoseconds of one clock, and begin <= end.
func (n *nesting) place(key traceKey, id, parent spanID, begin, end uint64) (uuid uint64) {
	tracks := n.tracks(key)
	best := (*sliceTrack)(nil)
	held := -1
	for _, t := range tracks {
		if h := t.fits(id, begin, end); h > held {
			best, held = t, h
		}
	}
	if best == nil {
		best = &sliceTrack{uuid: n.open(key.pid)}
		if len(tracks) == maxTracksOfTrace {
			n.slices -= len(tracks[0].slices)
			tracks = append(tracks[:0], tracks[1:]...)
		}
		tracks = append(tracks, best)
		n.recent[key] = tracks
		held = 0
	}
	n.slices -= len(best.slices)
	best.add(placed{begin, end, parent}, held)
	n.slices += len(best.slices)
	for _, t := range tracks {
		t.adopt(id, parent)
	}
	return best.uuid
}

// tracks returns the tracks of a trace. It forgets a trace after maxTraces other traces, or maxSlices of their slices,
// without a span of it.
func (n *nesting) tracks(key traceKey) []*sliceTrack {
	list, ok := n.recent[key]
	if ok && n.slices < maxSlices {
		return list
	}
	if !ok {
		list = n.old[key]
	}
	if len(n.recent) >= maxTraces || n.slices >= maxSlices {
		n.recent, n.old, n.slices = map[traceKey][]*sliceTrack{}, n.recent, 0
	}
	n.recent[key] = list
	for _, t := range list {
		n.slices += len(t.slices)
	}
	return list
}

// fits returns how many of the last slices of the track a span encloses, or -1 if it does not fit the track. Slices may
// have the same end, since the end of a child is written before that of its parent, but not the same beginning.
func (t *sliceTrack) fits(id spanID, begin, end uint64) (held int) {
	for i := len(t.slices) - 1; i >= 0; i-- {
		s := &t.slices[i]
		if s.end <= begin {
			break
		}
		if s.begin <= begin || s.end > end || s.parent != id {
			return -1
		}
		held++
	}
	return held
}

// add replaces the last slices of the track by a slice that encloses them.
func (t *sliceTrack) add(s placed, held int) {
	t.slices = append(t.slices[:len(t.slices)-held], s)
	if len(t.slices) > maxSlicesOfTracks { // merges the first two, and the time between them
		if t.slices[1].parent != t.slices[0].parent {
			t.slices[1].parent = noSpan
		}
		t.slices[1].begin = t.slices[0].begin
		t.slices = append(t.slices[:0], t.slices[1:]...)
	}
}

// adopt assigns children of a span that are not below it on the track to its parent, which can enclose them.
func (t *sliceTrack) adopt(id, parent spanID) {
	for i := range t.slices {
		if t.slices[i].parent == id {
			t.slices[i].parent = parent
		}
	}
}
