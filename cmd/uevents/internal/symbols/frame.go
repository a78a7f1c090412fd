package symbols

import (
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/internal/text"
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
