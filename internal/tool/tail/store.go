package tail

import (
	"reflect"

	"github.com/userevents/userevents-go/record"
)

type group struct {
	key         string
	first, last place
	records     int    // held
	marked      bool   // its records are let through
	since       uint64 // the time since which they are
}

func (g *group) size() int { return groupSize + len(g.key) }

// maxKey is how many bytes of a value tell groups apart.
const maxKey = 1024

// advance goes on to the time of a record, and drops what has expired. With Options.WallTime, a record whose time is before that of others
// by more than the window is of another recording, or its time is wrong: time goes on from there.
func (b *Buffer) advance(at int64) {
	window := int64(b.o.Window)
	switch d := at - b.last; {
	case !b.begun, b.o.WallTime && at < b.last && (d > 0 || d < -window): // times can differ by more than d has room for
		b.begun, b.last = true, at
	case at > b.last:
		if d < 0 || d > window {
			d = window
			b.now++ // so that all expires
		}
		b.now += uint64(d)
		b.last = at
	}
	for b.from < len(b.marks) && b.expired(b.marks[b.from].since) {
		b.unmark()
	}
	for len(b.chunks) > 0 {
		switch c := b.chunks[0]; {
		case c.from == len(c.entries) && len(b.chunks) == 1:
			b.empty(c)
			return
		case c.from == len(c.entries):
			b.free()
		case !b.expired(c.entries[c.from].at):
			return
		default:
			c.from++
			b.drop(&c.entries[c.from-1], &b.stats.Expired)
		}
	}
}

func (b *Buffer) expired(at uint64) bool { return b.now-at > uint64(b.o.Window) }

// mark lets the records of a group through, for a time from now on.
func (b *Buffer) mark(g *group) {
	g.since = b.now
	if !g.marked {
		g.marked = true
		b.marked += g.size()
		b.marks = append(b.marks, mark{g, b.now})
	}
}

// unmark ends the oldest mark, unless it was renewed.
func (b *Buffer) unmark() {
	g := b.marks[b.from].group
	b.marks[b.from] = mark{}
	if b.from++; b.from > len(b.marks)/2 {
		n := copy(b.marks, b.marks[b.from:])
		clear(b.marks[n:])
		b.marks, b.from = b.marks[:n], 0
	}
	if !b.expired(g.since) && b.marked <= b.o.Bytes/2 {
		b.marks = append(b.marks, mark{g, g.since})
		return
	}
	g.marked = false
	b.marked -= g.size()
	b.forget(g)
}

type mark struct {
	group *group
	since uint64 // when it was marked, at least
}

// forget drops a group that is of no use.
func (b *Buffer) forget(g *group) {
	if g.records == 0 && !g.marked {
		delete(b.groups, g.key)
		b.bytes -= g.size()
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

func decoderSize(d *record.Decoder) int { return 4096 + 512*len(d.Format().Fields) }

func processSize(p *record.Process) int { return sizeOf(reflect.ValueOf(p)) }

func (b *Buffer) drop(e *entry, count *uint64) {
	if e.gone {
		return
	}
	g := e.group // of which it is the first one
	g.first = e.next
	g.records--
	b.stats.Held--
	*count++
	b.forget(g)
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

func (b *Buffer) groupOf(g *group) *group {
	if g == nil {
		g = &group{key: string(b.key)}
		b.groups[g.key] = g
		b.bytes += g.size()
	}
	return g
}

// hold keeps a record.
func (b *Buffer) hold(g *group, ev *record.Record) {
	g = b.groupOf(g)
	e := entry{
		at: b.now, monotonic: ev.Monotonic, wall: ev.Time.UnixNano(), group: g, cgroup: ev.CgroupID, cpu: int32(ev.CPU), pid: ev.PID, tid: ev.TID,
	}
	var p place
	if bytes := len(ev.Raw) + 8*len(ev.Callchain); len(ev.Raw) == 0 || ev.Decoder == nil || bytes > chunkData {
		e.whole = ev.Clone()
		size := sizeOf(reflect.ValueOf(e.whole))
		c := b.reserve(0, size)
		p = c.append(e, nil, nil)
		c.wholes += size
		b.bytes += size
	} else {
		c := b.reserve(bytes, 0)
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

// shrink drops the oldest records beyond Options.Bytes. Of these, groups that are let through have up to a half.
func (b *Buffer) shrink() {
	for b.from < len(b.marks) && b.marked > b.o.Bytes/2 {
		b.unmark()
	}
	for len(b.chunks) > 1 && b.bytes > b.o.Bytes {
		b.evict()
	}
}

// take returns the first record that a group holds, nil if there is none.
func (b *Buffer) take(g *group) *record.Record {
	if g.records == 0 {
		return nil
	}
	p := g.first
	e := p.entry()
	g.first, e.gone = e.next, true
	g.records--
	b.stats.Held--
	return p.chunk.event(e, &b.ev)
}
