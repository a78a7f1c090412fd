package truncate

// Class says when a value is dropped.
type Class int

// Values are dropped in the order of these classes.
const (
	ClassRemote   Class = iota // deep in other objects, or behind a key that leaves little room for others
	ClassElement               // of an array of texts longer than Short, where it is a value of its own
	ClassLongText              // a text or array longer than Short
	ClassText                  // another one
	ClassNumber                // everything else
	ClassFixed                 // of a field that stands beside the attributes, where it is dropped at all
	classes
)

const (
	// MaxKey is the length in bytes from which a key is dropped first.
	MaxKey = 4 * Short

	// last is how many values of a class stay until those before them have been dropped.
	last = 8
)

// dropOrder is the order in which values are dropped: of each class those before the last ones, or all that are left.
var dropOrder = [...]struct {
	class Class
	all   bool
}{{ClassRemote, true}, {ClassElement, true}, {ClassLongText, true}, {ClassText, false}, {ClassNumber, false}, {ClassText, true}, {ClassNumber, true}, {ClassFixed, true}}

// Counts is how many values of each class a record has.
type Counts [classes]int

// Total returns how many values there are beside those of class [ClassFixed].
func (c *Counts) Total() (total int) {
	for _, count := range c[:ClassFixed] {
		total += count
	}
	return total
}

// Select returns which values are dropped if n of them are. Those dropped if n is less are among them.
func (c *Counts) Select(n int) (s Selection) {
	for class, count := range c {
		w := &s.dropped[class]
		w.from = max(0, count-last)
		switch Class(class) {
		case ClassRemote, ClassElement, ClassFixed:
			w.from = count // an array keeps its first elements
		}
		w.to = w.from
	}
	for _, step := range dropOrder {
		w := &s.dropped[step.class]
		before := min(n, w.from)
		w.from -= before
		n -= before
		if step.all {
			behind := min(n, c[step.class]-w.to)
			w.to += behind
			n -= behind
		}
	}
	return s
}

// Selection is which values of a record are dropped. It is used up by one pass over them. The zero value drops nothing.
type Selection struct {
	dropped [classes]window
	seen    Counts
}

// window is which values of a class are dropped, by their numbers.
type window struct{ from, to int }

// Drops reports whether the next value of a class is dropped. Call it once for each value, in the order of the record.
func (s *Selection) Drops(c Class) bool {
	i := s.seen[c]
	s.seen[c]++
	return i >= s.dropped[c].from && i < s.dropped[c].to
}
