package benchmarks

import (
	"debug/elf"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// probed is a function as a tracer finds it in any Go program: its first instruction compares
// the stack pointer, which the kernel has to execute out of line.
//
//go:noinline
func probed(method, route string, status int) int {
	var local [256]byte // a stack frame that is large enough for the check
	local[status&0xff] = method[0] + route[0]
	return int(local[(status+1)&0xff])
}

// semaphore counts the tracers of the site that it guards, as those of USDT probes do. Not
// zero, so that it is in a part of the file that is mapped for writing.
var semaphore = [2]uint16{0, 1}

// probe is a place that a uprobe can be attached to.
type probe struct {
	name string
	// where returns the place as uprobe_events wants it, behind the path.
	where func(t testing.TB, exe *elf.File) string
	call  func()
}

var probes = []probe{
	{"function", func(t testing.TB, exe *elf.File) string { return offset(t, exe, "benchmarks.probed") },
		func() { count += probed(method, route, status) }},
	{"nop", func(t testing.TB, exe *elf.File) string { return offset(t, exe, "benchmarks.nopSite") },
		func() { nopSite() }},
	{"nop-semaphore", func(t testing.TB, exe *elf.File) string {
		return offset(t, exe, "benchmarks.guardedSite") + "(" + offset(t, exe, "benchmarks.semaphore") + ")"
	}, func() {
		if semaphore[0] != 0 {
			guardedSite()
		}
	}},
}

// offset returns where in the file a function or variable is.
func offset(t testing.TB, exe *elf.File, name string) string {
	t.Helper()
	symbols, err := exe.Symbols()
	require.NoError(t, err)
	for _, s := range symbols {
		if !strings.HasSuffix(s.Name, name) && !strings.HasSuffix(s.Name, name+".abi0") {
			continue
		}
		for _, p := range exe.Progs {
			if p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				return fmt.Sprintf("0x%x", s.Value-p.Vaddr+p.Off)
			}
		}
	}
	t.Fatalf("no symbol %s in the test binary: go test strips it; compile with -c", name)
	return ""
}

// attach makes a uprobe event and returns how to switch it on and off.
func attach(t testing.TB, fs *tracefs.FS, p probe) (name string, enable func(on bool)) {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	exe, err := elf.Open(path)
	require.NoError(t, err)
	defer exe.Close()
	name = strings.ReplaceAll(uniqueName()+"_"+p.name, "-", "_")
	write := func(file, text string) {
		f, err := os.OpenFile(fs.Path(file), os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, err, text)
		require.NoError(t, f.Close())
	}
	write("uprobe_events", fmt.Sprintf("p:bench/%s %s:%s\n", name, path, p.where(t, exe)))
	enable = func(on bool) { write("events/bench/"+name+"/enable", map[bool]string{true: "1", false: "0"}[on]) }
	t.Cleanup(func() {
		enable(false)
		write("uprobe_events", "-:bench/"+name+"\n")
	})
	return name, enable
}

// TestProbes: every probe fires when it is attached, and not before.
func TestProbes(t *testing.T) {
	fs := kerneltest.Require(t)
	for _, p := range probes {
		t.Run(p.name, func(t *testing.T) {
			name, enable := attach(t, fs, p)
			require.NoError(t, os.WriteFile(fs.Path("trace"), nil, 0))
			for _, on := range []bool{false, true} {
				enable(on)
				p.call()
				text, err := os.ReadFile(fs.Path("trace"))
				require.NoError(t, err)
				assert.Equal(t, on, strings.Contains(string(text), name+": "), "%s", text)
			}
		})
	}
}

// BenchmarkUprobe is the call of a site, and while ftrace records it. None carries attributes:
// reading a Go string from a uprobe takes more.
func BenchmarkUprobe(b *testing.B) {
	fs := kerneltest.Require(b)
	for _, p := range probes {
		_, enable := attach(b, fs, p)
		run(b, p.name+"/off", p.call)
		enable(true)
		run(b, p.name+"/on", p.call)
		enable(false)
	}
}
