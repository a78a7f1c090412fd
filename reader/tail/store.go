package tail

import (
	"reflect"

	"github.com/userevents/userevents-go/reader"
)

// group is the records that share a value.
type group struct {
	key         string
	first, last place
	records     int    // held
	marked      bool   // its records are let through
	until       uint64 // the time until which they are
}

// groupSize is the size of a group in memory, with its part of the map.
var groupSize = 64 + int(reflect.TypeFor[group]().Size())

// maxKey is how many bytes of a value tell groups apart.
const maxKey = 1024

// advance drops what has expired.
func (b *Buffer) advance(now uint64) {
	b.now = max(b.now, now)
	for len(b.chunks) > 0 {
		switch c := b.chunks[0]; {
		case c.from == len(c.entries) && len(b.chunks) == 1:
			b.empty(c)
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
	b.empty(c)
	b.bytes -= c.size()
	b.spare = c
}

// empty makes a chunk as a new one.
func (b *Buffer) empty(c *chunk) {
	b.bytes -= c.wholes
	for _, d := range c.decoders {
		b.unshare(d, decoderSize(d))
	}
	for _, p := range c.processes {
		b.unshare(p, processSize(p))
	}
	clear(c.entries)
	clear(c.decoders)
	clear(c.processes)
	*c = chunk{entries: c.entries[:0], data: c.data[:0], decoders: c.decoders[:0], processes: c.processes[:0]}
}

// share counts the chunks that refer to a decoder or a process, which may be there for them alone.
func (b *Buffer) share(v any, size int) {
	if b.shared[v]++; b.shared[v] == 1 {
		b.bytes += size
	}
}

func (b *Buffer) unshare(v any, size int) {
	if b.shared[v]--; b.shared[v] == 0 {
		delete(b.shared, v)
		b.bytes -= size
	}
}

func decoderSize(d *reader.Decoder) int { return 4096 + 512*len(d.Format().Fields) }

func processSize(p *reader.Process) int {
	if p == nil {
		return 0
	}
	texts := len(p.Comm) + len(p.Exe) + len(p.Cgroup) + len(p.ServiceName) + len(p.ResourceJSON) // Cgroup has the others
	return int(reflect.TypeFor[reader.Process]().Size()) + texts
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

// reserve returns a chunk with room for the bytes of a record, or for one that takes so much memory without them.
func (b *Buffer) reserve(bytes, whole int) *chunk {
	var c *chunk
	if n := len(b.chunks); n > 0 {
		c = b.chunks[n-1]
		if len(c.entries) == chunkEntries || len(c.data)+bytes > chunkData || c.wholes > 0 && c.wholes+whole > b.o.Bytes/8 {
			c = nil
		}
	}
	if c == nil {
		if c, b.spare = b.spare, nil; c == nil {
			c = &chunk{entries: make([]entry, 0, chunkEntries)}
		}
		b.chunks = append(b.chunks, c)
		b.bytes += c.size()
	}
	if bytes > 0 && c.data == nil {
		c.data = make([]byte, 0, chunkData)
		b.bytes += chunkData
	}
	return c
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
	g = b.groupOf(g)
	e := entry{
		time: timeOf(ev), wall: ev.Time.UnixNano(), group: g, cgroup: ev.CgroupID, cpu: int32(ev.CPU), pid: ev.PID, tid: ev.TID, kind: held,
	}
	var p place
	if len(ev.Raw) == 0 || ev.Decoder == nil {
		size := sizeOf(ev)
		c := b.reserve(0, size)
		e.whole = ev.Clone()
		p = c.append(e, nil, nil)
		c.wholes += size
		b.bytes += size
	} else {
		c := b.reserve(len(ev.Raw)+8*len(ev.Callchain), 0)
		var added bool
		if e.decoder, added = index(&c.decoders, ev.Decoder); added {
			b.share(ev.Decoder, decoderSize(ev.Decoder))
		}
		if e.process, added = index(&c.processes, ev.Process); added {
			b.share(ev.Process, processSize(ev.Process))
		}
		p = c.append(e, ev.Callchain, ev.Raw)
	}
	if g.records++; g.records == 1 {
		g.first = p
	} else {
		g.last.entry().next = p
	}
	g.last = p
	b.stats.Held++
}

// shrink drops the oldest records beyond Options.Bytes.
func (b *Buffer) shrink() {
	for len(b.chunks) > 1 && b.bytes > b.o.Bytes {
		b.evict()
	}
}

// mark lets the records of a group through, for a time.
func (b *Buffer) mark(g *group) {
	g.marked = true
	b.reserve(0, 0).append(entry{time: b.now, group: g, kind: mark}, nil, nil)
}

// open lets the records of b.key through: those that are held, and further ones.
func (b *Buffer) open(g *group) {
	g = b.groupOf(g)
	g.until = b.now + uint64(b.o.Window)
	if !g.marked {
		b.mark(g)
	}
	b.opened = g
}

// take returns the first record that a group holds, nil if there is none.
func (b *Buffer) take(g *group) *reader.Event {
	if g.records == 0 {
		return nil
	}
	p := g.first
	e := p.entry()
	g.first, e.kind = e.next, gone
	g.records--
	b.stats.Held--
	return p.chunk.event(e, &b.ev)
}
