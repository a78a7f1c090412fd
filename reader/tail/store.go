package tail

import (
	"reflect"
	"time"

	"github.com/userevents/userevents-go/reader"
)

// entry is a record that is held, or a mark that the records of a group are let through.
type entry struct {
	time          uint64
	wall          int64 // nanoseconds since 1970
	group         *group
	next          place // of the group's next record
	process       *reader.Process
	decoder       *reader.Decoder
	whole         *reader.Event // of a record without its bytes
	begin, end    uint32        // its bytes in the chunk
	cgroup        uint64
	cpu, pid, tid int32
	kind          entryKind
}

type entryKind uint8

const (
	gone entryKind = iota // let through
	held
	mark
)

// chunk has entries in their order, and the bytes of their records.
type chunk struct {
	entries []entry
	data    []byte
	from    int // entries before have expired
	wholes  int // bytes of records without their bytes
}

// Limits of a chunk. A record has at most 64 KiB.
const (
	chunkData    = 128 << 10
	chunkEntries = 512
)

// Sizes in memory.
var (
	chunkSize = chunkData + chunkEntries*int(reflect.TypeFor[entry]().Size())
	groupSize = 64 + int(reflect.TypeFor[group]().Size()) // with its part of the map
	wholeSize = 1024 + int(reflect.TypeFor[reader.Event]().Size())
)

// maxKey is how many bytes of a value tell groups apart.
const maxKey = 1024

// group is the records that share a value.
type group struct {
	key         string
	first, last place
	records     int    // held
	marked      bool   // its records are let through
	until       uint64 // the time until which they are
}

// place is that of an entry.
type place struct {
	chunk *chunk
	i     int
}

func (p place) entry() *entry { return &p.chunk.entries[p.i] }

// advance drops what has expired.
func (b *Buffer) advance(now uint64) {
	b.now = max(b.now, now)
	for len(b.chunks) > 0 {
		switch c := b.chunks[0]; {
		case c.from == len(c.entries) && len(b.chunks) == 1:
			c.reset(&b.bytes)
			return
		case c.from == len(c.entries):
			b.free()
		case c.entries[c.from].time+uint64(b.o.Window) >= b.now:
			return
		default:
			c.from++
			b.drop(&c.entries[c.from-1], &b.stats.Expired)
		}
	}
}

// free takes the oldest chunk away, which has no entries any more.
func (b *Buffer) free() {
	c := b.chunks[0]
	b.chunks[0] = nil
	b.chunks = b.chunks[1:]
	c.reset(&b.bytes)
	b.bytes -= chunkSize
	b.spare = c
}

// reset empties a chunk.
func (c *chunk) reset(bytes *int) {
	clear(c.entries)
	*bytes -= c.wholes
	c.entries, c.data, c.from, c.wholes = c.entries[:0], c.data[:0], 0, 0
}

// drop drops an entry.
func (b *Buffer) drop(e *entry, count *uint64) {
	g := e.group
	switch e.kind {
	case gone:
		return
	case held: // the group's first one
		g.first = e.next
		g.records--
		b.stats.Held--
		*count++
	case mark:
		g.marked = false
		if g.until >= b.now && count == &b.stats.Expired { // it was renewed
			b.mark(g)
			return
		}
	}
	if g.records == 0 && !g.marked {
		delete(b.groups, g.key)
		b.bytes -= groupSize + len(g.key)
	}
}

// evict drops the oldest chunk.
func (b *Buffer) evict() {
	c := b.chunks[0]
	for ; c.from < len(c.entries); c.from++ {
		b.drop(&c.entries[c.from], &b.stats.Evicted)
	}
	b.free()
}

// reserve makes room for an entry with the bytes of a record, and returns its chunk. It may drop groups.
func (b *Buffer) reserve(bytes int) *chunk {
	if n := len(b.chunks); n > 0 {
		if c := b.chunks[n-1]; len(c.entries) < chunkEntries && len(c.data)+bytes <= chunkData {
			return c
		}
	}
	for len(b.chunks) > 1 && b.bytes+chunkSize > b.o.Bytes {
		b.evict()
	}
	c := b.spare
	if b.spare = nil; c == nil {
		c = &chunk{entries: make([]entry, 0, chunkEntries), data: make([]byte, 0, chunkData)}
	}
	b.chunks = append(b.chunks, c)
	b.bytes += chunkSize
	return c
}

// add adds an entry with the bytes of a record, and returns its place.
func (b *Buffer) add(e entry, raw []byte) place {
	c := b.reserve(len(raw))
	e.begin = uint32(len(c.data))
	c.data = append(c.data, raw...)
	e.end = uint32(len(c.data))
	c.entries = append(c.entries, e)
	return place{c, len(c.entries) - 1}
}

// groupOf returns the group of b.key, a new one if g is nil.
func (b *Buffer) groupOf(g *group) *group {
	if g == nil {
		g = &group{key: string(b.key)}
		b.groups[g.key] = g
		b.bytes += groupSize + len(g.key)
	}
	return g
}

// hold keeps a record.
func (b *Buffer) hold(g *group, ev *reader.Event) {
	e := entry{
		time: timeOf(ev), wall: ev.Time.UnixNano(), process: ev.Process, decoder: ev.Decoder,
		cgroup: ev.CgroupID, cpu: int32(ev.CPU), pid: ev.PID, tid: ev.TID, kind: held,
	}
	if len(ev.Raw) == 0 || ev.Decoder == nil || len(ev.Callchain) > 0 {
		e.whole = ev.Clone()
	}
	g = b.groupOf(g)
	e.group = g
	raw := ev.Raw
	if e.whole != nil {
		raw = nil
	}
	p := b.add(e, raw)
	if e.whole != nil {
		size := wholeSize + len(ev.Raw) + len(ev.Message) + len(ev.FieldsJSON)
		p.chunk.wholes += size
		b.bytes += size
	}
	if g.records++; g.records == 1 {
		g.first = p
	} else {
		g.last.entry().next = p
	}
	g.last = p
	b.stats.Held++
	b.shrink()
}

// shrink makes room for groups and records that are not in chunks.
func (b *Buffer) shrink() {
	for len(b.chunks) > 1 && b.bytes > b.o.Bytes {
		b.evict()
	}
}

// mark lets the records of a group through, for a time.
func (b *Buffer) mark(g *group) {
	g.marked = true
	b.add(entry{time: b.now, group: g, kind: mark}, nil)
}

// open lets the records of b.key through: those that are held, and further ones.
func (b *Buffer) open(g *group, show func(*reader.Event) error) (err error) {
	g = b.groupOf(g)
	g.until = b.now + uint64(b.o.Window)
	if !g.marked {
		b.mark(g)
	}
	for ; g.records > 0; g.records-- {
		p := g.first
		e := p.entry()
		g.first, e.kind = e.next, gone
		b.stats.Held--
		if err == nil {
			b.stats.Shown++
			err = show(b.event(p))
		}
	}
	b.shrink()
	return err
}

// event returns a held record.
func (b *Buffer) event(p place) *reader.Event {
	e := p.entry()
	if e.whole != nil {
		return e.whole
	}
	ev := &b.ev
	ev.Time, ev.Monotonic, ev.CPU, ev.PID, ev.TID = time.Unix(0, e.wall), e.time, int(e.cpu), e.pid, e.tid
	ev.CgroupID, ev.Process, ev.Raw = e.cgroup, e.process, p.chunk.data[e.begin:e.end:e.end]
	ev.Undecodable = e.decoder.Decode(ev.Raw, ev, &reader.DecodeOptions{Reuse: true}) != nil
	return ev
}
