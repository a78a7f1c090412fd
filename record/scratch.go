package record

import (
	"slices"
	"strconv"
	"sync"

	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/tracepoint"
)

// scratch is the memory for decoding a record. A Record of Decoder.DecodeReuse has one of its own.
type scratch struct {
	// Parts of the event:
	arena  []Field // elements of lists and maps
	point  *Point
	header *Header

	fields  []Field // for Record.Fields of an event that keeps its parts
	stack   []Field // elements of incomplete lists and maps
	members []Field // of the object of a Parser
	// declared are the positions of fields that are no part of the layout, in Record.Fields.
	declared []int
	seen     map[string]int // used by index
	layout   *layout        // of the record

	// For EventHeader events:
	encoded eventheader.Event
	cursor  eventheader.Cursor
	top     []Field // the fields of the event before they are interpreted
}

// scratches are for events that keep their parts.
var scratches = sync.Pool{New: func() any { return new(scratch) }}

// borrow gives the event a scratch for one record. What the event had belongs to its copies.
func (rec *Record) borrow() {
	rec.scratch = scratches.Get().(*scratch)
	rec.fields, rec.Resource, rec.NestedEvents, rec.NestedLinks = rec.scratch.fields, nil, nil, nil
}

// settle gives a borrowed scratch back without the parts of the event.
func (rec *Record) settle() {
	rec.Fields()
	s := rec.scratch
	s.fields, rec.fields = rec.fields, append([]Field(nil), rec.fields...)
	s.arena, s.point, s.header = nil, nil, nil
	rec.scratch = nil
	scratches.Put(s)
}

// maxKept is how many elements a Record keeps memory for. The memory of larger records is released.
const maxKept = 1 << 12

// begin prepares the memory for the next record.
func (s *scratch) begin() {
	s.arena, s.stack, s.top, s.declared = room(s.arena), room(s.stack), room(s.top), room(s.declared)
}

// room returns an empty slice with capacity for most records.
func room[T any](s []T) []T {
	if cap(s) > maxKept {
		return nil
	}
	return s[:0]
}

// end pops the elements from base on off the stack, and returns them. They are valid until the next record.
func (s *scratch) end(base int) []Field {
	begin := len(s.arena)
	s.arena = append(s.arena, s.stack[base:]...)
	s.stack = s.stack[:base]
	return s.arena[begin:len(s.arena):len(s.arena)]
}

// fewFields is the largest number of fields for which each is compared with all others.
const fewFields = 24

func (s *scratch) unique(fields []Field, base int) []Field {
	list := fields[base:]
	if len(list) > fewFields {
		return fields[:base+s.keepLast(list)]
	}
	var marks uint64 // of the names so far: most names differ in theirs
	for i := range list {
		name := list[i].Name
		mark := markOf(name)
		if marks&mark != 0 && hasName(list[:i], name) {
			return fields[:base+s.keepLast(list)]
		}
		marks |= mark
	}
	return fields
}

// markOf returns one of 64 bits, which depends on the length and the ends of a name.
func markOf(name string) uint64 {
	n := len(name)
	if n == 0 {
		return 1
	}
	return 1 << ((uint(n) + 5*uint(name[0]) + 11*uint(name[n-1])) % 64)
}

func hasName(fields []Field, name string) bool {
	for i := range fields {
		if fields[i].Name == name {
			return true
		}
	}
	return false
}

// keepLast keeps the last field of each name. It returns how many remain.
func (s *scratch) keepLast(list []Field) int {
	defer s.forget(len(list))
	if s.index(list) == len(list) {
		return len(list)
	}
	i := -1
	return len(slices.DeleteFunc(list, func(f Field) bool {
		i++
		return s.seen[f.Name] != i
	}))
}

// index sets seen to the position of the last field of each name, and returns how many names there are.
func (s *scratch) index(list []Field) int {
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	for i := range list {
		s.seen[list[i].Name] = i
	}
	return len(s.seen)
}

func (s *scratch) forget(fields int) {
	if clear(s.seen); fields > maxKept {
		s.seen = nil
	}
}

// numberNames gives each of n fields whose name repeats an earlier one a name of its own: a, a_2, a_3. Programs may repeat the names of
// fields, which are keys in JSON and in OTLP: only one field of a name could be read there.
func numberNames(n int, name func(i int) *string) {
	last := make(map[string]int, n) // by name, the number of the last field that has it
	for i := range n {
		last[*name(i)] = 1
	}
	seen := make(map[string]bool, n)
	for i := range n {
		was := *name(i)
		if seen[was] {
			*name(i) = nextName(was, last)
		}
		seen[was] = true
	}
}

// nextName returns the name with the next number that no field has.
func nextName(name string, last map[string]int) string {
	for {
		last[name]++
		next := name + "_" + strconv.Itoa(last[name])
		if last[next] == 0 {
			last[next] = 1
			return next
		}
	}
}

func numberFormat(f tracepoint.Format) tracepoint.Format {
	f.Fields = slices.Clone(f.Fields) // the caller's stay
	numberNames(len(f.Fields), func(i int) *string { return &f.Fields[i].Name })
	return f
}

func (s *scratch) numberRepeated(fields []Field) {
	if s.repeats(fields) {
		numberNames(len(fields), func(i int) *string { return &fields[i].Name })
	}
	s.numberNested(fields)
}

func (s *scratch) numberNested(values []Field) {
	for i := range values {
		switch v := &values[i].Value; v.typ {
		case TypeMap:
			s.numberRepeated(v.list)
		case TypeList:
			s.numberNested(v.list)
		}
	}
}

func (s *scratch) repeats(fields []Field) bool {
	if len(fields) > fewFields {
		defer s.forget(len(fields))
		return s.index(fields) < len(fields)
	}
	for i := range fields {
		if hasName(fields[i+1:], fields[i].Name) {
			return true
		}
	}
	return false
}
