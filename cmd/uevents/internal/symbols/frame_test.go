package symbols

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestProgram(t *testing.T) {
	stack := []Frame{
		{Func: "internal/runtime/syscall/linux.Syscall6"},
		{Func: "syscall.Syscall"},
		{Func: "github.com/userevents/userevents-go/uevents.(*Event).WriteRecord"},
		{Func: "github.com/userevents/userevents-go/sloghandler.(*Handler).Handle"},
		{Func: "example.com/middleware.(*Handler).Handle"},
		{Func: "log/slog.(*Logger).log"},
		{Func: "main.handleRequest"},
		{Func: "go.opentelemetry.io/otel/sdk/trace.(*recordingSpan).End"},
		{Func: "gopkg.in/yaml%2ev3.Do[...]"},
		{Func: "log/slogger.Not"},
		{Addr: 16},
		{Func: "main.main"},
		{Func: "runtime.main"},
		{Func: "runtime.goexit"},
	}
	var names []string
	for _, f := range program(stack) {
		names = append(names, f.Func)
	}
	assert.Equal(t, []string{
		"example.com/middleware.(*Handler).Handle", "main.handleRequest", "gopkg.in/yaml%2ev3.Do[...]", "log/slogger.Not", "", "main.main",
	}, names)

	// If all frames are plumbing, the stack keeps them.
	only := []Frame{{Func: "syscall.Syscall"}, {Func: "log/slog.Info"}}
	assert.Equal(t, only, program(only))
}

func TestAppendStack(t *testing.T) {
	stack := []Frame{
		{Func: "main.f", File: "/src/a b.go", Line: 12, Addr: 1, Object: "/bin/x"},
		{Func: "write", Addr: 2, Object: "/lib/libc.so.6"},
		{Addr: 0xabc, Object: "/bin/\x1b[31m\xff\u202e"},
		{Addr: 0xdef},
		{Func: "evil\nline", File: "f.c"},
	}
	assert.Equal(t, "    main.f /src/a b.go:12\n    write (/lib/libc.so.6)\n    0xabc (/bin/\\x1b[31m\\xff\\u202e)\n    0xdef\n    evil\\nline f.c\n",
		string(AppendStack(nil, stack, "    ")))
}

func TestParseMaps(t *testing.T) {
	text := `00400000-0048a000 r-xp 00001000 fe:01 1234    /bin/a program (deleted)
0048a000-0054f000 r--p 0008a000 fe:01 1234    /bin/a program (deleted)
7f0000000000-7f0000001000 r-xp 00000000 00:00 0 
7f0000001000-7f0000002000 r-xp 00000000 08:02 77 /lib/new\012line
bad line
7f0000003000-7f0000002000 r-xp 00000000 08:02 77 /lib/x
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
`
	assert.Equal(t, []Mapping{
		{Start: 0x400000, End: 0x48a000, Offset: 0x1000, Path: "/bin/a program", Deleted: true, Device: "fe:01", Inode: 1234},
		{Start: 0x7f0000000000, End: 0x7f0000001000, Device: "00:00"},
		{Start: 0x7f0000001000, End: 0x7f0000002000, Path: "/lib/new\nline", Device: "08:02", Inode: 77},
		{Start: 0xffffffffff600000, End: 0xffffffffff601000, Path: "[vsyscall]", Device: "00:00"},
	}, parseMaps(strings.NewReader(text)))
}

// TestLongMaps: what is read of a process's mappings is limited, and only what is kept stays in memory.
func TestLongMaps(t *testing.T) {
	line := "7f0000000000-7f0000001000 r--p 00000000 08:02 77 /" + strings.Repeat("d", 4000) + "\n"
	read := 0
	mappings := parseMaps(readerFunc(func(b []byte) (int, error) {
		read += len(b)
		for i := range b {
			b[i] = line[(read-len(b)+i)%len(line)]
		}
		return len(b), nil
	}))
	assert.Empty(t, mappings)
	assert.LessOrEqual(t, read, maxMaps+64<<10)

	// A line that the limit cuts is not the whole truth.
	whole := "00400000-0048a000 r-xp 00001000 fe:01 1234 /bin/x\n"
	assert.Len(t, parseMaps(strings.NewReader(whole+strings.TrimSuffix(whole, "x\n"))), 1)

	// 1 MB of text of which 1 line is kept.
	text := whole + strings.Repeat(line, 256)
	var before, after runtime.MemStats
	kept := make([][]Mapping, 64)
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range kept {
		kept[i] = parseMaps(strings.NewReader(text))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(8<<20))
	for _, m := range kept {
		assert.Equal(t, "/bin/x", m[0].Path)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// FuzzMaps: whatever a file has, mappings are ranges of addresses, and their number is bounded.
func FuzzMaps(f *testing.F) {
	f.Add([]byte("7f1c-7f2d r-xp 00001000 fe:01 1234    /path with spaces (deleted)\n55-56 r-xp 0 0:0 0 [vdso]\n"))
	f.Add([]byte("7f2d-7f1c r-xp 0 0:0 0 \n-x r\n 1-2 --x 3 4 5 /a\\012b\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		mappings := parseMaps(bytes.NewReader(b))
		assert.LessOrEqual(t, len(mappings), maxMappings)
		for _, m := range mappings {
			assert.Less(t, m.Start, m.End)
			m.isFile()
		}
	})
}

// TestOnce: functions around an inlined call, which have addresses of their own, too, are there once.
func TestOnce(t *testing.T) {
	in := func(name string) Frame { return Frame{Func: name, Line: 1, Inlined: true} }
	out := func(name string) Frame { return Frame{Func: name, Line: 1} }
	for _, c := range []struct{ frames, want []Frame }{
		{nil, nil},
		{[]Frame{out("f"), out("f"), out("main")}, []Frame{out("f"), out("f"), out("main")}},
		{[]Frame{in("h"), in("g"), out("f"), in("g"), out("f"), out("f"), out("main")}, []Frame{in("h"), in("g"), out("f"), out("main")}},
		{[]Frame{in("g"), out("f"), in("g"), out("f")}, []Frame{in("g"), out("f"), in("g"), out("f")}},
		{[]Frame{in("g"), out("f"), out("e"), out("f")}, []Frame{in("g"), out("f"), out("e"), out("f")}},
		{[]Frame{in("g")}, []Frame{in("g")}},
	} {
		assert.Equal(t, c.want, append([]Frame(nil), once(slices.Clone(c.frames))...))
	}
}
