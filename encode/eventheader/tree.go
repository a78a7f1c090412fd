package eventheader

// Node is a field of a materialised event.
type Node struct {
	Name string
	Type Type // the format of a struct is its number of children
	Tag  uint16
	// Value is what [Value.Any] returns; of a struct []Node, of an array []any,
	// whose elements are values or, in an array of structs, []Node.
	Value any
}

// Tree returns the event's fields. They do not refer to the payload. Exactly one of fields and error is nil.
func (ev *Event) Tree() ([]Node, error) {
	c := ev.Cursor()
	nodes := []Node{}
	for c.Next() {
		nodes = append(nodes, c.node())
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	return nodes, nil
}

// node reads the field that the cursor stands at up to its end.
func (c *Cursor) node() Node {
	n := Node{Name: c.Name(), Type: c.Type(), Tag: c.Tag()}
	n.Value = c.any()
	return n
}

// any reads the value, struct or array that the cursor stands at up to its end. The depth of
// a cursor's stack bounds the recursion.
func (c *Cursor) any() any {
	switch c.item {
	case ItemStruct:
		nodes := []Node{}
		for c.Next() && c.item != ItemStructEnd {
			nodes = append(nodes, c.node())
		}
		return nodes
	case ItemArray:
		elements := []any{}
		for c.Next() && c.item != ItemArrayEnd {
			elements = append(elements, c.any())
		}
		return elements
	}
	return c.Value().Any()
}
