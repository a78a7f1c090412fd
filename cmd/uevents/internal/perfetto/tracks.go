package perfetto

import (
	"cmp"

	"github.com/userevents/userevents-go/record"
)

// Limits of the memory. Beyond them, tracks are described again.
const (
	maxProcesses = 16384
	maxThreads   = 65536
	maxCounters  = 4096
)

type thread struct {
	process uint64 // its track
	tid     int32
}

// process is a process, or what its number stood for until it ran another program or the number was used again.
type process struct {
	track     uint64
	comm, exe string
}

// runs reports whether an event is of the program that was seen last. What is not known does not differ.
func (p *process) runs(q *record.Process) bool {
	if q == nil || p.exe != "" && q.Exe != "" {
		return q == nil || p.exe == q.Exe
	}
	return p.comm == "" || q.Comm == "" || p.comm == q.Comm
}

type counterKey struct {
	process uint64 // its track, 0 for the machine
	name    string // including the attributes of the series
}

type tracks struct {
	processes map[int32]process
	threads   map[thread]uint64
	counters  map[counterKey]uint64
}

// remember puts a track into a map, which it clears at the limit.
func remember[K comparable, V any](m map[K]V, key K, v V, limit int) {
	if len(m) >= limit {
		clear(m)
	}
	m[key] = v
}

func (p *Writer) describe(uuid uint64, rest func(m *message)) {
	begin := p.m.begin(tracePacket)
	p.m.uint(packetSequence, sequence)
	at := p.m.begin(packetTrackDescriptor)
	p.m.uint(descriptorUUID, uuid)
	rest(&p.m)
	p.m.end(at)
	p.m.end(begin)
}

func (p *Writer) processTrack(ev *record.Record) uint64 {
	known, ok := p.tracks.processes[ev.PID]
	if ok && known.runs(ev.Process) {
		return known.track
	}
	uuid := p.processUUID(ev.PID)
	if ok { // Perfetto keeps the first name of a track
		uuid = p.newUUID()
	}
	now := process{track: uuid}
	if ev.Process != nil {
		now.comm, now.exe = ev.Process.Comm, ev.Process.Exe
	}
	remember(p.tracks.processes, ev.PID, now, maxProcesses)
	p.describe(uuid, func(m *message) {
		at := m.begin(descriptorProcess)
		m.int(processPID, int64(ev.PID))
		if name := cmp.Or(ev.Process.Program(), ev.ServiceName); name != "" {
			m.string(processName, name)
		}
		m.end(at)
	})
	return uuid
}

func (p *Writer) threadTrack(ev *record.Record) uint64 {
	tid := cmp.Or(ev.TID, ev.PID) // of records in shared memory, the thread is not known
	key := thread{p.processTrack(ev), tid}
	if uuid, ok := p.tracks.threads[key]; ok {
		return uuid
	}
	uuid := p.threadUUID(tid)
	if key.process != p.processUUID(ev.PID) {
		uuid = p.newUUID()
	}
	remember(p.tracks.threads, key, uuid, maxThreads)
	p.describe(uuid, func(m *message) {
		at := m.begin(descriptorThread)
		m.int(threadPID, int64(ev.PID))
		m.int(threadTID, int64(tid))
		if tid == ev.PID && ev.Process != nil && ev.Process.Comm != "" {
			m.string(threadName, ev.Process.Comm)
		}
		m.end(at)
	})
	return uuid
}

// openSpans describes a new track for spans of a process that is already described. Perfetto draws tracks of one
// process with the same name as one group.
func (p *Writer) openSpans(pid int32) uint64 {
	uuid, parent := p.newUUID(), p.processUUID(pid)
	if known, ok := p.tracks.processes[pid]; ok {
		parent = known.track
	}
	p.describe(uuid, func(m *message) {
		m.string(descriptorName, "spans")
		m.uint(descriptorParent, parent)
	})
	return uuid
}

// counterTrack returns the track of a counter of a process, or of the machine.
func (p *Writer) counterTrack(key counterKey, unitName string, unit uint64) uint64 {
	if uuid, ok := p.tracks.counters[key]; ok {
		return uuid
	}
	uuid := p.newUUID()
	p.describe(uuid, func(m *message) {
		m.string(descriptorName, key.name)
		if key.process != 0 {
			m.uint(descriptorParent, key.process)
		}
		at := m.begin(descriptorCounter)
		if unit != 0 {
			m.uint(counterUnit, unit)
		}
		if unitName != "" {
			m.string(counterUnitName, unitName)
		}
		m.end(at)
	})
	remember(p.tracks.counters, key, uuid, maxCounters)
	return uuid
}
