package benchmarks

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// probed is a function like those of any Go program: its first instruction compares
// the stack pointer, which the kernel has to execute out of line. Go passes the arguments in the
// registers rax, rbx, rcx, rdi, rsi, r8 and r9, a text as its address and its length.
//
//go:noinline
func probed(method, route string, status int, latency time.Duration, cached bool) int {
	var local [256]byte // a stack frame that is large enough for the check
	local[status&0xff] = method[0] + route[0]
	if cached {
		local[latency&0xff]++
	}
	return int(local[(status+1)&0xff])
}

// arguments are what a probe on it reads: the record that all contenders write. A probe finds the
// end of a text by a zero byte, which the texts of a Go program do not have.
const arguments = " method=+0(%ax):ustring route=+0(%cx):ustring status=%si:s64 latency=%r8:s64 cached=%r9:u8"

var (
	methodZ = (method + "\x00")[:len(method)]
	routeZ  = (route + "\x00")[:len(route)]
)

func callProbed() { count += probed(methodZ, routeZ, status, latency, cached) }

// semaphore counts the tracers of the site that it guards, as those of USDT probes do. Not
// zero, so that it is in a part of the file that is mapped for writing.
var semaphore = [2]uint16{0, 1}

// probe is a place that a uprobe can be attached to.
type probe struct {
	name string
	// where returns the place as uprobe_events wants it, behind the path.
	where func(t testing.TB, exe *elf.File) string
	call  func()
	// again: a call can reach the place more than once. A Go function begins anew when its
	// stack has grown and when the scheduler preempted the goroutine in the stack check.
	again bool
}

var probes = []probe{
	{"function", func(t testing.TB, exe *elf.File) string { return offset(t, exe, "benchmarks.probed") }, callProbed, true},
	{"arguments", func(t testing.TB, exe *elf.File) string { return offset(t, exe, "benchmarks.probed") + arguments }, callProbed, true},
	{"nop", func(t testing.TB, exe *elf.File) string { return offset(t, exe, "benchmarks.nopSite") }, nopSite, false},
	{"semaphore", func(t testing.TB, exe *elf.File) string {
		return offset(t, exe, "benchmarks.guardedSite") + "(" + offset(t, exe, "benchmarks.semaphore") + ")"
	}, func() {
		if semaphore[0] != 0 {
			guardedSite()
		}
	}, false},
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

// attach makes a uprobe event and returns its name. It is removed with the test.
func attach(t testing.TB, fs *tracefs.Dir, p probe) (name string) {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	exe, err := elf.Open(path)
	require.NoError(t, err)
	defer exe.Close()
	name = uniqueName() + "_" + p.name
	if _, err := os.Stat(fs.Path("uprobe_events")); errors.Is(err, os.ErrNotExist) {
		t.Skip("not on this kernel: it has no uprobes")
	}
	write := func(text string) {
		f, err := os.OpenFile(fs.Path("uprobe_events"), os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, err, text)
		require.NoError(t, f.Close())
	}
	write(fmt.Sprintf("p:%s/%s %s:%s\n", probeSystem, name, path, p.where(t, exe)))
	t.Cleanup(func() { write("-:" + probeSystem + "/" + name + "\n") })
	return name
}

// probeSystem is the group that uprobe events are in.
const probeSystem = "bench"

// TestProbes: every probe fires when it is attached, and not before.
func TestProbes(t *testing.T) {
	fs := kerneltest.Require(t)
	for _, p := range probes {
		t.Run(p.name, func(t *testing.T) {
			name := attach(t, fs, p)
			fired := func(n int, text any) {
				t.Helper()
				if p.again {
					require.Positive(t, n, "%s", text)
				} else {
					require.Equal(t, 1, n, "%s", text)
				}
			}
			i := kerneltest.NewInstance(t, fs, 64)
			p.call()
			i.Attach(probeSystem + ":" + name)
			require.NotContains(t, i.Content(), name+": ", "before it was attached")
			p.call()
			text := i.Content()
			fired(strings.Count(text, name+": "), text)
			if p.name == "arguments" {
				for _, part := range []string{`method="GET"`, `route="/users/{id}"`, "status=200", "latency=1500000", "cached=0"} {
					assert.Contains(t, text, part)
				}
			}
			i.Detach()

			perf := kerneltest.AttachPerf(t, fs, probeSystem+":"+name)
			p.call()
			records := perf.Records()
			fired(len(records), records)
			perf.Detach()
			p.call()
		})
	}
}

// BenchmarkUprobe is the call of a site: while no tool is attached, with ftrace, with perf.
// All but one carry no attributes.
func BenchmarkUprobe(b *testing.B) {
	fs := kerneltest.Require(b)
	for _, p := range probes {
		name := attach(b, fs, p)
		run(b, p.name+"/off", call{log: p.call})
		i := kerneltest.NewInstance(b, fs, 64)
		i.Attach(probeSystem + ":" + name)
		run(b, p.name+"/ftrace", call{log: p.call})
		i.Detach()
		perf := kerneltest.AttachPerfOverwriting(b, fs, probeSystem+":"+name)
		run(b, p.name+"/perf", call{log: p.call})
		perf.Detach()
	}
}
