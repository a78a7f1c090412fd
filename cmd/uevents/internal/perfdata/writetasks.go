package perfdata

import (
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader"
)

// thread is a thread that the file describes.
type thread struct {
	pid     int32
	process *reader.Process // after an exec, the process is another one
}

// maxThreads limits the known threads. Beyond it, the file describes threads again.
const maxThreads = 1 << 16

// task describes the writer of a record if its thread is new or runs another program: perf learns names and mappings
// from records only.
func (w *Writer) task(ev *reader.Event, tid int32) {
	now := thread{ev.PID, ev.Process}
	if tid == w.recentID && now == w.recentThread {
		return
	}
	w.recentID, w.recentThread = tid, now
	if w.threads[tid] == now {
		return
	}
	if len(w.threads) >= maxThreads {
		clear(w.threads)
	}
	if w.threads[ev.PID] != now {
		at := w.since(ev.PID, ev)
		w.threads[ev.PID] = now
		w.process(ev, at)
	}
	if tid != ev.PID {
		at := w.since(tid, ev)
		w.threads[tid] = now
		// The thread inherits the name and the mappings of the process.
		end := w.begin(typeFork, 0)
		w.u32(uint32(ev.PID), uint32(ev.PID), uint32(tid), uint32(ev.PID))
		w.u64(at)
		w.trailer(ev.PID, tid, at, ev.CPU, 0)
		end()
	}
}

// since returns the time from which on the writer of a record counts as a thread's program.
func (w *Writer) since(tid int32, ev *reader.Event) uint64 {
	if _, known := w.threads[tid]; w.o.Unordered && !known {
		return 0 // older records may follow
	}
	return ev.Monotonic
}

// threadOf returns the thread that wrote a record: of those in shared memory, neither that nor the CPU is known, and perf takes
// thread 0 for the kernel's.
func threadOf(ev *reader.Event) int32 {
	if ev.TID != 0 {
		return ev.TID
	}
	return ev.PID
}

// process adds the name and the mappings that a process has from a time on.
func (w *Writer) process(ev *reader.Event, at uint64) {
	if ev.Process != nil && ev.Process.Comm != "" {
		end := w.begin(typeComm, 0)
		w.u32(uint32(ev.PID), uint32(ev.PID))
		w.text(ev.Process.Comm)
		w.trailer(ev.PID, ev.PID, at, ev.CPU, 0)
		end()
	}
	if !w.o.Callchain || w.o.Symbols == nil {
		return
	}
	w.o.Symbols.Notice(ev)
	for _, m := range w.o.Symbols.Mappings(ev.PID) {
		w.mapping(ev, &m, at)
	}
}

// mapping adds a mapping: struct { u32 pid, tid; u64 addr, len, pgoff; u32 maj, min; u64 ino, ino_generation;
// u32 prot, flags; char filename[] }.
func (w *Writer) mapping(ev *reader.Event, m *symbols.Mapping, at uint64) {
	if len(m.Path) > maxPath {
		return // exceeds the size of perf's records
	}
	const protReadExec, mapPrivate = 5, 2
	major, minor := m.DeviceNumbers()
	end := w.begin(typeMmap2, miscUser)
	w.u32(uint32(ev.PID), uint32(ev.PID))
	w.u64(m.Start, m.End-m.Start, m.Offset)
	w.u32(major, minor)
	w.u64(m.Inode, 0)
	w.u32(protReadExec, mapPrivate)
	path := m.Path
	if path == "" {
		path = "//anon"
	}
	w.text(path)
	w.trailer(ev.PID, ev.PID, at, ev.CPU, 0)
	end()
}

const maxPath = 4095

// text adds a text, and at least one zero up to a multiple of 8 bytes.
func (w *Writer) text(s string) {
	w.buf = append(append(w.buf, s...), zeros[:8-len(s)%8]...)
}
