package perfdata

import (
	"fmt"
	"math/bits"
	"os"
	"strings"
)

type feature struct {
	bit     int
	content []byte
}

// features returns the sections behind the data, in order of their bits.
func (w *Writer) features() (list []feature) {
	list = append(list, feature{featureTracingData, w.tracingData()})
	for _, f := range []struct {
		bit  int
		text string
	}{{featureHostname, w.o.Hostname}, {featureRelease, w.o.Release}} {
		if f.text != "" {
			list = append(list, feature{f.bit, appendString(nil, f.text)})
		}
	}
	if len(w.o.Command) > 0 {
		b := order.AppendUint32(nil, uint32(len(w.o.Command)))
		for _, s := range w.o.Command {
			b = appendString(b, s)
		}
		list = append(list, feature{featureCommand, b})
	}
	const version = 1
	b := order.AppendUint32(nil, version)
	b = order.AppendUint32(b, clockMonotonic)
	b = order.AppendUint64(b, w.wall)
	return append(list, feature{featureClockData, order.AppendUint64(b, w.clock)})
}

// appendString appends struct perf_header_string.
func appendString(b []byte, s string) []byte {
	b = order.AppendUint32(b, uint32(len(s)+1))
	return append(append(b, s...), 0)
}

// headerPage describes the pages of ftrace's buffers, which the file does not have. perf requires it, and reads the
// size of long from it.
var headerPage = fmt.Sprintf(`	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:%d;	signed:1;
	field: int overwrite;	offset:8;	size:1;	signed:1;
	field: char data;	offset:%d;	size:4080;	signed:1;
`, bits.UintSize/8, 8+bits.UintSize/8)

// tracingData returns the formats of all events in the layout of trace.dat, with its other parts empty.
func (w *Writer) tracingData() []byte {
	b := append([]byte{23, 8, 68}, "tracing0.6\x00"...)
	bigEndian := byte(0)
	if order.Uint16([]byte{0, 1}) == 1 {
		bigEndian = 1
	}
	b = append(b, bigEndian, bits.UintSize/8) // the size of long
	b = order.AppendUint32(b, uint32(os.Getpagesize()))
	for _, f := range [...]struct{ name, content string }{{"header_page", headerPage}, {"header_event", "\n"}} {
		b = order.AppendUint64(append(append(b, f.name...), 0), uint64(len(f.content)))
		b = append(b, f.content...)
	}
	b = order.AppendUint32(b, 0) // ftrace's own events
	bySystem := map[string][]*event{}
	var systems []string
	for _, e := range w.ordered {
		if bySystem[e.key.system] == nil {
			systems = append(systems, e.key.system)
		}
		bySystem[e.key.system] = append(bySystem[e.key.system], e)
	}
	b = order.AppendUint32(b, uint32(len(systems)))
	for _, system := range systems {
		b = append(append(b, system...), 0)
		b = order.AppendUint32(b, uint32(len(bySystem[system])))
		for _, e := range bySystem[system] {
			b = order.AppendUint64(b, uint64(len(e.format)))
			b = append(b, e.format...)
		}
	}
	b = order.AppendUint32(b, 0)    // addresses of the kernel's functions
	b = order.AppendUint32(b, 0)    // texts of trace_printk
	return order.AppendUint64(b, 0) // names of threads
}

// withNumber replaces the tracepoint's number in a format.
func withNumber(format string, number int) string {
	var b strings.Builder
	for line := range strings.Lines(format) {
		if strings.HasPrefix(line, "ID:") {
			line = fmt.Sprintf("ID: %d\n", number)
		}
		b.WriteString(line)
	}
	return b.String()
}
