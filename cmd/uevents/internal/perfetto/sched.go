package perfetto

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/userevents/userevents-go/reader"
)

const (
	schedSystem = "sched"
	switchName  = "sched_switch"

	// Switch is the kernel's event of context switches.
	Switch = schedSystem + ":" + switchName
)

// IsSwitch reports whether an event is a context switch. The writer draws it as the scheduler's, not as an event of the
// process.
func IsSwitch(ev *reader.Event) bool { return ev.System == schedSystem && ev.Name == switchName }

// switchFields are the fields of the kernel's sched_switch, and their numbers in Perfetto's message.
var switchFields = [...]struct {
	name   string
	number protowire.Number
}{
	{"prev_comm", 1},
	{"prev_pid", 2},
	{"prev_prio", 3},
	{"prev_state", 4},
	{"next_comm", 5},
	{"next_pid", 6},
	{"next_prio", 7},
}

// writeSwitch writes a context switch. Kernel events have times in CLOCK_BOOTTIME, the clock of a bundle that names
// none.
func (p *Writer) writeSwitch(ev *reader.Event) {
	begin := p.m.begin(tracePacket)
	p.m.uint(packetSequence, sequence)
	bundle := p.m.begin(packetFtraceEvents)
	p.m.uint(bundleCPU, uint64(ev.CPU))
	at := p.m.begin(bundleEvent)
	p.m.uint(ftraceTimestamp, p.boottime(p.recorded(ev)))
	p.m.uint(ftracePID, uint64(uint32(ev.TID)))
	fields := p.m.begin(ftraceSchedSwitch)
	for _, f := range switchFields {
		v, ok := ev.Lookup(f.name)
		switch {
		case !ok: // the record is of another kernel
		case v.Type() == reader.TypeString:
			p.m.string(f.number, v.Text())
		default:
			p.m.int(f.number, v.Int64())
		}
	}
	p.m.end(fields)
	p.m.end(at)
	p.m.end(bundle)
	p.m.end(begin)
}
