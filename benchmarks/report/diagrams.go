package main

// attach shows what happens in order when a tool attaches and detaches.
func attach() string {
	p := newPicture(860, 430, "The sequence of attaching to and detaching from an event")
	columns := []struct {
		x    int
		name string
	}{{100, "program"}, {430, "kernel"}, {760, "tool"}}
	for _, c := range columns {
		p.box(c.x-80, 12, 160, 30, "box", c.name)
		p.line(c.x, 42, c.x, 415)
	}
	program, kernel, tool := columns[0].x, columns[1].x, columns[2].x
	for i, m := range []struct {
		from, to int
		text     string
	}{
		{program, kernel, "registers myapp_debug and its word (ioctl)"},
		{program, program, "word is 0: Debug() returns"},
		{tool, kernel, "attaches to myapp_debug"},
		{kernel, program, "sets the bit; no signal, no restart"},
		{program, kernel, "Debug(): pwrite64 of the record"},
		{kernel, tool, "record in the ring, with time, CPU, process"},
		{tool, kernel, "detaches, exits or is killed"},
		{kernel, program, "clears the bit"},
		{program, program, "word is 0: Debug() returns"},
	} {
		y := 72 + i*40
		if m.from == m.to {
			p.add(`<circle class="own" cx="%d" cy="%d" r="4"/>`, m.from, y-4)
			p.text(m.from+14, y, "start", "text", m.text)
			continue
		}
		p.text((m.from+m.to)/2, y-6, "middle", "text", m.text)
		p.arrow(m.from, y, m.to, y)
	}
	return p.end()
}
