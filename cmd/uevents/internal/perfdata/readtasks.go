package perfdata

import (
	"bytes"
	"fmt"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader"
)

// task applies a record about processes.
func (r *Reader) task(rec record) {
	c := &cursor{b: rec.body()}
	word := func() int32 { return int32(c.u32()) }
	switch rec.kind() {
	case typeComm: // u32 pid, tid; char comm[]
		pid, tid := word(), word()
		if comm := cut(c.b); !c.bad && pid == tid {
			p := r.copyOf(pid)
			p.Comm = comm
			if rec.misc()&miscCommExec != 0 && r.symbols != nil {
				r.symbols.Forget(pid)
			}
		}
	case typeFork: // u32 pid, ppid, tid, ptid
		pid, parent := word(), word()
		if !c.bad && pid != parent {
			p := *r.process(parent)
			p.PID = pid
			r.processes[pid] = &p
			if r.symbols != nil {
				r.symbols.Inherit(pid, parent)
			}
		}
	case typeMmap: // u32 pid, tid; u64 addr, len, pgoff; char filename[]
		r.mapping(rec, c, false)
	case typeMmap2:
		r.mapping(rec, c, true)
	}
}

// mapping applies a record of a mapping; see Writer.mapping.
func (r *Reader) mapping(rec record, c *cursor, more bool) {
	if rec.misc()&miscMmapData != 0 || r.symbols == nil {
		return
	}
	pid := int32(c.u32())
	c.u32() // tid
	start, size := c.u64(), c.u64()
	m := symbols.Mapping{Start: start, End: start + size, Offset: c.u64()}
	if more {
		major, minor, inode := c.u32(), c.u32(), c.u64()
		if rec.misc()&miscBuildID == 0 {
			m.Device, m.Inode = fmt.Sprintf("%02x:%02x", major, minor), inode
		}
		c.take(16) // ino_generation, prot, flags
	}
	m.Path = cut(c.b)
	if !c.bad && m.End > m.Start && pid > 0 {
		r.symbols.Map(pid, m)
	}
}

// cut returns a text up to its terminating zero.
func cut(b []byte) string {
	text, _, _ := bytes.Cut(b, []byte{0})
	return string(text)
}

// process returns a process, with the names that the file has for it.
func (r *Reader) process(pid int32) *reader.Process {
	p := r.processes[pid]
	if p == nil {
		p = &reader.Process{PID: pid}
		r.processes[pid] = p
	}
	return p
}

// copyOf replaces a process by a copy that may change: earlier events keep the previous one.
func (r *Reader) copyOf(pid int32) *reader.Process {
	p := *r.process(pid)
	r.processes[pid] = &p
	return &p
}
