package eventheader

// structItems is what the children of a struct and its end take of what decoders take.
// Reserving it also limits the depth of structs to 30, which a cursor can follow.
const structItems = maxStructSize + 1

// BeginStruct begins a struct. The fields that follow are its children, until
// [Encoder.EndStruct]. A struct without children is left out. One that is nested
// more than 8 levels deep becomes a text that holds a JSON object.
func (e *Encoder) BeginStruct(name string) {
	full := e.items < structItems
	if e.skipped == 0 && full {
		e.lost++
	}
	// The format of a struct is its number of children, which EndStruct knows.
	if e.skipped > 0 || full || !e.field(name, TypeOf(Struct, 1), 0) {
		e.skip()
		return
	}
	begin := e.mark()
	cost := max(len(name), len(noName)) + typeSize
	begin.room += cost
	begin.meta -= cost
	e.items -= structItems
	e.parents = append(e.parents, e.frame)
	e.frame = frame{spare: maxStructSize - 1, size: maxStructSize - 1, format: len(e.meta) - 1, begin: begin}
}

// skip leaves out a struct and all that comes before its end.
func (e *Encoder) skip() {
	if e.skipped == 0 {
		e.saved, e.room = e.room, -1
	}
	e.skipped++
}

// EndStruct ends the struct that was begun last.
func (e *Encoder) EndStruct() {
	if e.skipped > 0 {
		if e.skipped--; e.skipped == 0 {
			e.room = e.saved
		}
		return
	}
	if len(e.parents) == 0 {
		if e.err == nil {
			e.err = invalidf("EndStruct without BeginStruct")
		}
		return
	}
	if e.spilled {
		e.endOverflow()
	}
	f := e.frame
	e.frame = e.parents[len(e.parents)-1]
	e.parents = e.parents[:len(e.parents)-1]
	switch children := f.size - f.spare; {
	case children == 0:
		e.rollback(f.begin)
		e.spare++
	case len(e.parents) == maxNesting:
		e.structToText(f)
	default:
		e.meta[f.format] = byte(children)
		e.items += maxStructSize - children
	}
}

// structToText replaces a struct that decoders would not follow by its JSON.
func (e *Encoder) structToText(f frame) {
	at := len(e.overflow)
	e.overflow = append(e.overflow, '{')
	e.overflow = appendMembers(e.overflow, e.written(f.format+1, f.begin.data))
	e.overflow = append(e.overflow, '}')
	text := e.overflow[at:]
	e.overflow = e.overflow[:at]

	e.rollback(f.begin)
	cost := f.format + 1 - f.begin.meta + 2 + len(text)
	if cost > e.room {
		e.spare++
		e.lost++
		return
	}
	e.room -= cost
	e.meta = e.meta[:f.format-1] // name and NUL are still there
	e.appendJSON(text)
}

// spill moves the last field that fits to the struct's JSON, because one more came.
func (e *Encoder) spill() {
	at := len(e.overflow)
	starts := !e.spilled
	cost := 0
	if starts {
		e.overflow = append(e.overflow, '{')
		cost = overflowSize - 1
	} else {
		e.overflow = append(e.overflow, ',')
	}
	e.overflow = appendMembers(e.overflow, e.written(e.last.meta, e.last.data))
	e.rollback(e.last)
	e.spare++
	if cost += len(e.overflow) - at; cost > e.room {
		e.overflow = e.overflow[:at]
		e.lost++
		return
	}
	e.room -= cost
	if starts {
		e.spilled, e.frame.overflow = true, at
	}
}

// endOverflow ends the open struct with the JSON of those of its fields that did not fit.
func (e *Encoder) endOverflow() {
	if e.spare < 0 {
		e.spill()
	}
	e.spare--
	e.overflow = append(e.overflow, '}')
	e.meta = append(append(e.meta, OverflowField...), 0)
	e.appendJSON(e.overflow[e.frame.overflow:])
	e.overflow = e.overflow[:e.frame.overflow]
	e.spilled = false
}

// appendJSON appends the type of a field and its text, which must not be cut: it would
// not be JSON any more.
func (e *Encoder) appendJSON(text []byte) {
	e.meta = append(e.meta, byte(String8)|chainFlag, byte(FormatJSON))
	e.keep = append(e.keep, len(e.data))
	e.data = append(e.order.append16(e.data, uint16(len(text))), text...)
}

// written returns a cursor over what was written since.
func (e *Encoder) written(meta, data int) *Cursor {
	return &Cursor{meta: e.meta[meta:], data: e.data[data:], order: e.order, steps: maxSteps}
}
