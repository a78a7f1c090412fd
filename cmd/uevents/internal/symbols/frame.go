package symbols

import (
	"slices"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/record"
)

// Frame is a function on a stack.
type Frame struct {
	Func    string // as the Go runtime prints it, such as main.(*server).handle; "" if unknown
	File    string // of the source; "" if unknown
	Line    int    // of the call; 0 if unknown
	Inlined bool   // the compiler inlined the call: the next frame has the same Addr
	Addr    uint64 // the address in the process
	Object  string // path of the program or library, as the process sees it; "" if the address is in none
}

const library = "github.com/userevents/userevents-go/"

// plumbing lists the packages between the function that logs and the kernel. A name that ends in a slash includes the
// packages below it.
var plumbing = []string{
	"log/slog", "log/slog/",
	library + "sloghandler", library + "structevent", library + "exporter/", library + "uevents/", library + "encode/",
	library + "internal/",
	"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/", "go.opentelemetry.io/contrib/bridges/",
	"syscall", "internal/runtime/syscall", "internal/runtime/syscall/", "runtime/internal/syscall",
	"golang.org/x/sys/",
}

// isPlumbing reports whether the function belongs to log/slog, OpenTelemetry, this library, or the packages that
// enter the kernel.
func (f *Frame) isPlumbing() bool {
	pkg := f.pkg()
	for _, p := range plumbing {
		if pkg == p || strings.HasSuffix(p, "/") && strings.HasPrefix(pkg+"/", p) {
			return true
		}
	}
	return f.Func == "runtime.goexit" || f.Func == "runtime.main"
}

// pkg returns the import path of the function's package. For a C function it returns the function's name.
func (f *Frame) pkg() string {
	slash := strings.LastIndexByte(f.Func, '/') + 1
	dot := strings.IndexByte(f.Func[slash:], '.')
	if dot < 0 {
		return f.Func
	}
	return f.Func[:slash+dot]
}

// program removes the frames for which isPlumbing is true, unless none would be left. It reuses the memory of
// frames.
func program(frames []Frame) []Frame {
	first := 0
	for first < len(frames) && frames[first].isPlumbing() {
		first++
	}
	if first == len(frames) {
		return frames
	}
	kept := frames[:0]
	for _, f := range frames[first:] {
		if !f.isPlumbing() {
			kept = append(kept, f)
		}
	}
	return kept
}

// AppendText appends the frame as one line of printable characters, without a newline: the function, then the file and
// line. It escapes names, which come from the program and may have any bytes.
func (f *Frame) AppendText(b []byte) []byte {
	switch {
	case f.Func != "":
		b = text.AppendPrintable(b, f.Func)
	default:
		b = strconv.AppendUint(append(b, "0x"...), f.Addr, 16)
	}
	switch {
	case f.File != "":
		b = text.AppendPrintable(append(b, ' '), f.File)
		if f.Line > 0 {
			b = strconv.AppendInt(append(b, ':'), int64(f.Line), 10)
		}
	case f.Object != "":
		b = append(text.AppendPrintable(append(b, " ("...), f.Object), ')')
	}
	return b
}

// AppendStack appends each frame as a line with a prefix, indent.
func AppendStack(b []byte, frames []Frame, indent string) []byte {
	for i := range frames {
		b = append(frames[i].AppendText(append(b, indent...)), '\n')
	}
	return b
}

// Stack returns the functions on the stack of an event, innermost first, without those between the function that logged
// and the kernel. The frames are valid until the next call.
func (t *Table) Stack(ev *record.Record) []Frame {
	if len(ev.Callchain) == 0 {
		return nil
	}
	t.Notice(ev)
	t.stack = t.appendFrames(t.stack[:0], ev.PID, ev.Callchain)
	return program(once(t.stack))
}

// Notice forgets the process of an event if it runs another program than before.
func (t *Table) Notice(ev *record.Record) {
	p := t.process(ev.PID)
	if !t.recorded() && p.owner != nil && p.owner != ev.Process {
		t.Forget(ev.PID)
		p = t.process(ev.PID)
	}
	p.owner = ev.Process
}

// once drops frames that a stack has twice: beside the address of a call that was inlined, runtime.Callers, which stacks in shared
// memory come from, also has one for each of the functions around it. It reuses the memory of frames.
func once(frames []Frame) []Frame {
	kept := frames[:0]
	var around []Frame // functions around the last call, unless they were dropped
	for len(frames) > 0 {
		n := 1 + slices.IndexFunc(frames, func(f Frame) bool { return !f.Inlined })
		if n == 0 {
			n = len(frames)
		}
		call := frames[:n]
		frames = frames[n:]
		if len(around) > 0 && slices.EqualFunc(around, call, func(a, b Frame) bool { return a.Func == b.Func && a.File == b.File && a.Line == b.Line }) {
			around = around[1:]
			continue
		}
		kept = append(kept, call...)
		around = kept[len(kept)-n+1:]
	}
	return kept
}
