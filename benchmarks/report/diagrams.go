package main

// architecture shows how a log call becomes a record of a tool, and how a tool enables it.
func architecture() string {
	p := newPicture(860, 300, "The kernel sets a bit in the program's memory while a tool is attached; the program then writes records, which the kernel copies into the tool's ring")
	p.text(20, 24, "start", "weak", "your program")
	p.box(90, 36, 190, 44, "box", "slog, OpenTelemetry", "log call, span, data point")
	p.box(90, 120, 190, 44, "mark", "enable word", "1. load it, 2. branch")
	p.box(90, 204, 190, 44, "mark", "record in a pooled buffer", "only while the bit is set")
	p.arrow(185, 80, 185, 118)
	p.arrow(185, 164, 185, 202)
	p.text(195, 188, "start", "weak", "bit set")
	p.arrow(90, 142, 22, 142)
	p.text(20, 130, "start", "weak", "bit clear:")
	p.text(20, 162, "start", "weak", "return")

	p.text(340, 24, "start", "weak", "Linux kernel")
	p.box(340, 120, 220, 44, "box", "event myapp_debug", "name, fields, attached tools")
	p.box(340, 204, 220, 61, "box", "filter, histogram", "adds time, CPU, process, stack;", "copies the record")
	p.arrow(340, 142, 282, 142)
	p.text(310, 112, "middle", "weak", "sets or clears")
	p.arrow(280, 226, 338, 226)
	p.text(310, 216, "middle", "weak", "pwrite64")
	p.arrow(450, 164, 450, 202)

	p.text(630, 24, "start", "weak", "tools, each with its own rings")
	p.box(630, 120, 210, 44, "box", "uevents watch", "level, filter, stacks")
	p.box(630, 180, 210, 44, "box", "perf, ftrace, trace-cmd", "Perfetto")
	p.box(630, 240, 210, 44, "box", "OpenTelemetry Collector", "one for each node")
	p.arrow(630, 142, 562, 142)
	p.text(596, 112, "middle", "weak", "attaches")
	p.arrow(560, 215, 628, 202)
	p.arrow(560, 226, 628, 256)
	p.text(596, 196, "middle", "weak", "ring")
	return p.end()
}

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
