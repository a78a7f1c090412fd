package reader

// scratch is the memory that an Event uses again for each record.
type scratch struct {
	arena []Field // elements of lists and maps
	stack []Field // elements of lists and maps that are not complete
}

// maxKept is how many elements an Event keeps room for: a record with more of them leaves nothing behind.
const maxKept = 1 << 12

// begin readies the memory for the next record.
func (s *scratch) begin() {
	s.arena, s.stack = room(s.arena), s.stack[:0]
}

// room returns an empty slice with room for what most records have.
func room[T any](s []T) []T {
	if cap(s) > maxKept {
		return nil
	}
	return s[:0]
}

// end returns the elements that are on the stack from base on, and takes them off. They stay where they are until the
// next record.
func (s *scratch) end(base int) []Field {
	begin := len(s.arena)
	s.arena = append(s.arena, s.stack[base:]...)
	s.stack = s.stack[:base]
	return s.arena[begin:len(s.arena):len(s.arena)]
}
