package perfetto

// Perfetto nests the slices of a track by their times: the end of a slice closes the one that began last. So slices
// that overlap need tracks of their own, and a slice must not hold one that is not its child. Tracks of one name below one
// process are drawn as one group, with as many lines as overlap at a time.
//
// A span is known when it ends, children before their parents. A trace has its own tracks in each process: a span is put
// on one where all that its time overlaps are its children, inside of it.

type (
	traceID = [16]byte
	spanID  = [8]byte
)

// Bounds of what is remembered. Beyond them, spans get tracks of their own where they could share one.
const (
	maxTraces         = 16384 // in each of two generations
	maxTracksOfTrace  = 32
	maxSlicesOfTracks = 256
	maxSlices         = 1 << 18 // of all tracks in a generation
)

// traceKey tells traces apart, of which each process has its own tracks.
type traceKey struct {
	pid int32
	id  traceID
}

// placed is a slice on a track that no other slice holds.
type placed struct {
	begin, end uint64
	parent     spanID
}

// sliceTrack is a track of a trace, with the outermost slices on it in the order of their times.
type sliceTrack struct {
	uuid   uint64
	slices []placed
}

// noSpan is the parent of slices that no span may hold.
var noSpan = spanID{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// nesting chooses tracks for spans.
type nesting struct {
	recent, old map[traceKey][]*sliceTrack
	slices      int                           // on tracks of recent traces, at most
	open        func(pid int32) (uuid uint64) // makes a new track
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
			tracks = append(tracks[:0], tracks[1:]...)
		}
		tracks = append(tracks, best)
		n.recent[key] = tracks
		held = 0
	}
	best.add(placed{begin, end, parent}, held)
	n.slices++
	for _, t := range tracks {
		t.adopt(id, parent)
	}
	return best.uuid
}

// tracks returns the tracks of a trace. A trace that was not seen for maxTraces others, or maxSlices of them, is forgotten.
func (n *nesting) tracks(key traceKey) []*sliceTrack {
	if list, ok := n.recent[key]; ok {
		return list
	}
	list := n.old[key]
	if len(n.recent) >= maxTraces || n.slices >= maxSlices {
		n.recent, n.old, n.slices = map[traceKey][]*sliceTrack{}, n.recent, 0
	}
	n.recent[key] = list
	for _, t := range list {
		n.slices += len(t.slices)
	}
	return list
}

// fits returns how many of the last slices of the track a span holds, or -1 if it does not belong on the track. Ends may
// be equal, as the end of a child is written before that of its parent, but not beginnings.
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

// add puts a slice in the place of the last ones, which it holds.
func (t *sliceTrack) add(s placed, held int) {
	t.slices = append(t.slices[:len(t.slices)-held], s)
	if len(t.slices) > maxSlicesOfTracks { // the time between the first two is then taken, too
		if t.slices[1].parent != t.slices[0].parent {
			t.slices[1].parent = noSpan
		}
		t.slices[1].begin = t.slices[0].begin
		t.slices = append(t.slices[:0], t.slices[1:]...)
	}
}

// adopt makes children of a span that are not below it on the track children of its parent, which can hold them.
func (t *sliceTrack) adopt(id, parent spanID) {
	for i := range t.slices {
		if t.slices[i].parent == id {
			t.slices[i].parent = parent
		}
	}
}
