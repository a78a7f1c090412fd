package tail

import (
	"encoding/binary"
	"reflect"
	"slices"
	"time"

	"github.com/userevents/userevents-go/reader"
)

// chunk has entries in the order of adding, and the bytes of their records.
type chunk struct {
	entries []entry
	data    []byte
	from    int // entries before have expired
	wholes  int // bytes of records without their bytes

	// What entries refer to, each once.
	decoders  []*reader.Decoder
	processes []*reader.Process
}

// entry is a record that is held, or a mark that the records of a group are let through.
type entry struct {
	time             uint64
	wall             int64 // nanoseconds since 1970
	group            *group
	next             place         // of the group's next record
	whole            *reader.Event // of a record without its bytes
	begin, end       uint32        // return addresses and the record in chunk.data
	cgroup           uint64
	cpu, pid, tid    int32
	callers          uint16
	decoder, process uint16 // in the chunk
	kind             entryKind
}

type entryKind uint8

const (
	gone entryKind = iota // let through
	held
	mark
)

// place is that of an entry.
type place struct {
	chunk *chunk
	i     int
}

func (p place) entry() *entry { return &p.chunk.entries[p.i] }

// Limits of a chunk. A record has at most 64 KiB; those without their bytes count in Buffer.wholes.
const (
	chunkData    = 128 << 10
	chunkEntries = 512
)

// Sizes in memory.
var (
	chunkSize = chunkEntries * int(reflect.TypeFor[entry]().Size())
	wholeSize = int(reflect.TypeFor[reader.Event]().Size())
)

// size is the memory that a chunk takes, without what its entries refer to.
func (c *chunk) size() int { return chunkSize + cap(c.data) }

// append adds an entry with the return addresses and the bytes of a record, and returns its place.
func (c *chunk) append(e entry, callers []uint64, raw []byte) place {
	e.begin = uint32(len(c.data))
	for _, address := range callers {
		c.data = binary.NativeEndian.AppendUint64(c.data, address)
	}
	c.data = append(c.data, raw...)
	e.end, e.callers = uint32(len(c.data)), uint16(len(callers))
	c.entries = append(c.entries, e)
	return place{c, len(c.entries) - 1}
}

// event returns the record of an entry, in ev or as it was added.
func (c *chunk) event(e *entry, ev *reader.Event) *reader.Event {
	if e.whole != nil {
		return e.whole
	}
	data := c.data[e.begin:e.end:e.end]
	ev.Callchain = ev.Callchain[:0]
	for range e.callers {
		ev.Callchain = append(ev.Callchain, binary.NativeEndian.Uint64(data))
		data = data[8:]
	}
	ev.Time, ev.Monotonic, ev.CPU, ev.PID, ev.TID = time.Unix(0, e.wall), e.time, int(e.cpu), e.pid, e.tid
	ev.CgroupID, ev.Process, ev.Raw = e.cgroup, c.processes[e.process], data
	ev.Undecodable = c.decoders[e.decoder].Decode(data, ev, &reader.DecodeOptions{Reuse: true}) != nil
	return ev
}

// index returns the place of a value in a list, to which it is added if it is not there: added is set then. The last ones are the likely
// ones.
func index[T comparable](list *[]T, v T) (i uint16, added bool) {
	for i, have := range slices.Backward(*list) {
		if have == v {
			return uint16(i), false
		}
	}
	*list = append(*list, v)
	return uint16(len(*list) - 1), true
}

// jsonFactor is how much more memory than its JSON a short field takes, at most.
const jsonFactor = 16

// sizeOf returns about the size of a record in memory.
func sizeOf(ev *reader.Event) int {
	lists := [][]reader.Field{ev.Fields, ev.Resource, ev.ScopeAttributes}
	for i := range ev.NestedEvents {
		lists = append(lists, ev.NestedEvents[i].Attributes)
	}
	for i := range ev.NestedLinks {
		lists = append(lists, ev.NestedLinks[i].Attributes)
	}
	n := wholeSize*(1+len(ev.NestedEvents)+len(ev.NestedLinks)) + len(ev.Message) + len(ev.FieldsJSON)
	for _, fields := range lists {
		n += jsonFactor * len(reader.AppendJSON(nil, fields))
	}
	if ev.Point != nil {
		n += wholeSize + 8*(len(ev.Point.Bounds)+len(ev.Point.BucketCounts))
	}
	return n
}
