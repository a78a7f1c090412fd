package tail

import (
	"encoding/binary"
	"reflect"
	"slices"
	"time"

	"github.com/userevents/userevents-go/record"
)

// chunk has entries in the order of adding, and the bytes of their records.
type chunk struct {
	entries []entry
	data    []byte
	from    int // entries before have expired
	wholes  int // bytes of records without their bytes

	// What entries refer to, each once.
	decoders  []*record.Decoder
	processes []*record.Process
}

// entry is a record that is held.
type entry struct {
	at               uint64 // in the time of Buffer.now
	monotonic        uint64
	wall             int64 // nanoseconds since 1970
	group            *group
	next             place          // of the group's next record
	whole            *record.Record // of a record without its bytes
	begin, end       uint32         // return addresses and the record in chunk.data
	cgroup           uint64
	cpu, pid, tid    int32
	callers          uint16
	decoder, process uint16 // in the chunk
	gone             bool   // let through
}

type place struct {
	chunk *chunk
	i     int
}

func (p place) entry() *entry { return &p.chunk.entries[p.i] }

// Limits of a chunk. Records that are larger are kept without their bytes.
const (
	chunkData    = 128 << 10
	chunkEntries = 512
)

// Sizes in memory.
var (
	chunkSize = chunkEntries * int(reflect.TypeFor[entry]().Size())
	groupSize = 64 + int(reflect.TypeFor[group]().Size()) // with its part of the map
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

func (c *chunk) event(e *entry, ev *record.Record) *record.Record {
	if e.whole != nil {
		return e.whole
	}
	data := c.data[e.begin:e.end:e.end]
	callers := ev.Callchain[:0]
	for range e.callers {
		callers = append(callers, binary.NativeEndian.Uint64(data))
		data = data[8:]
	}
	_ = c.decoders[e.decoder].DecodeReuse(data, ev) // it is Undecodable
	ev.Time, ev.Monotonic, ev.CPU, ev.PID, ev.TID = time.Unix(0, e.wall), e.monotonic, int(e.cpu), e.pid, e.tid
	ev.CgroupID, ev.Process, ev.Callchain = e.cgroup, c.processes[e.process], callers
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

// sizeOf returns the memory that a value refers to, without decoders, which others have, too.
func sizeOf(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Slice:
		n = v.Cap() * int(v.Type().Elem().Size())
		if refers(v.Type().Elem()) {
			for i := range v.Len() {
				n += sizeOf(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += sizeOf(v.Field(i))
		}
	case reflect.Pointer:
		if t := v.Type(); !v.IsNil() && t != reflect.TypeFor[*record.Decoder]() && t != reflect.TypeFor[*time.Location]() {
			n = int(t.Elem().Size()) + sizeOf(v.Elem())
		}
	}
	return n
}

func refers(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() == reflect.Slice || t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer
}
