package symbols

import (
	"bufio"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// frameOfRuntime is a frame from the subject's own runtime.
type frameOfRuntime struct {
	PC   uint64
	Func string
	File string
	Line int
}

// start runs a subject until the test ends.
func start(t *testing.T, path string) (pid int32, frames []frameOfRuntime) {
	t.Helper()
	cmd := exec.Command(path)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NoError(t, stdin.Close())
		_, _ = io.Copy(io.Discard, stdout)
		assert.NoError(t, cmd.Wait())
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, &frames))
	return int32(cmd.Process.Pid), frames
}

// requireCompiler skips tests that run compilers in guests, where they would take minutes.
func requireCompiler(t *testing.T) {
	t.Helper()
	testscale.HostOnly(t)
}

func build(t *testing.T, env []string, args ...string) (path string) {
	t.Helper()
	require.FileExists(t, filepath.Join("testdata", "subject", "main.go")) // go's cache then knows that the result depends on it
	path = filepath.Join(t.TempDir(), "subject")
	cmd := exec.Command("go", append(append([]string{"build", "-o", path}, args...), "./testdata/subject")...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// TestGo compares frames with those of the program's own runtime, for programs that are linked in different ways.
func TestGo(t *testing.T) {
	requireCompiler(t)
	for name, args := range map[string][]string{
		"plain":        {},
		"stripped":     {"-ldflags=-s -w"},
		"PIE":          {"-buildmode=pie"},
		"stripped PIE": {"-buildmode=pie", "-ldflags=-s -w"},
		"C linker":     {"-ldflags=-linkmode=external"},
		"C linker PIE": {"-buildmode=pie", "-ldflags=-linkmode=external -s -w"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := []string{"CGO_ENABLED=0"} // for which the standard library is compiled already
			if strings.HasPrefix(name, "C ") {
				testscale.NeedProgram(t, "cc")
				env = []string{"CGO_ENABLED=1", "CC=cc"}
			}
			path := build(t, env, args...)
			pid, want := start(t, path)
			table := New()
			checkGo(t, table, pid, want)
			assert.Equal(t, path, table.appendFrames(nil, pid, []uint64{want[0].PC})[0].Object)
		})
	}
}

// TestDeleted: the file of a running program was removed, and another file has its path.
func TestDeleted(t *testing.T) {
	requireCompiler(t)
	path := build(t, nil)
	pid, want := start(t, path)
	require.NoError(t, os.Remove(path))
	checkGo(t, New(), pid, want)
	require.NoError(t, os.WriteFile(path, []byte("another program"), 0o700))
	checkGo(t, New(), pid, want)
}

// TestEnded: the stacks of a loaded process can be resolved after its end.
func TestEnded(t *testing.T) {
	requireCompiler(t)
	path := build(t, nil)
	table := New()
	var pid int32
	var want []frameOfRuntime
	t.Run("process", func(t *testing.T) {
		pid, want = start(t, path)
		table.process(pid)
	})
	checkGo(t, table, pid, want)
	table.Forget(pid)
	got := table.appendFrames(nil, pid, []uint64{want[0].PC})
	assert.Equal(t, []Frame{{Addr: want[0].PC}}, got, "its address is all that is known")
}

// TestMap: the mappings come from a recording.
func TestMap(t *testing.T) {
	requireCompiler(t)
	path := build(t, nil)
	pid, want := start(t, path)
	source, table := New(), NewRecorded()
	for _, m := range source.Mappings(pid) {
		table.Map(-1, m)
	}
	checkGo(t, table, -1, want)
}

func checkGo(t *testing.T, table *Table, pid int32, want []frameOfRuntime) {
	t.Helper()
	require.Greater(t, len(want), 8)
	assert.Contains(t, want[1].Func+want[2].Func, "small", "of inlined calls")
	var inlined int
	for i, w := range want {
		// A return address is behind the call; the first address of a stack is that of an instruction.
		got := table.appendFrames(nil, pid, []uint64{w.PC - 1})
		again := table.appendFrames(nil, pid, []uint64{0, w.PC})[1:]
		assert.Equal(t, got, again)
		for j, f := range got {
			require.Less(t, i+j, len(want))
			w := want[i+j]
			assert.Equal(t, frameOfRuntime{w.PC, w.Func, w.File, w.Line}, frameOfRuntime{w.PC, f.Func, f.File, f.Line})
			assert.Equal(t, j < len(got)-1, f.Inlined)
			if f.Inlined {
				inlined++
			}
		}
	}
	assert.NotZero(t, inlined)
}

// TestC: functions come from ELF symbol tables; those of a stripped program are unknown.
func TestC(t *testing.T) {
	requireCompiler(t)
	cc := testscale.NeedProgram(t, "cc")
	for name, flags := range map[string][]string{"plain": nil, "fixed address": {"-no-pie"}, "stripped": {"-s"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "csubject")
			out, err := exec.Command(cc, append(flags, "-O1", "-o", path, "testdata/csubject/main.c")...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			pid, want := start(t, path)
			table := New()
			for _, w := range want {
				got := table.appendFrames(nil, pid, []uint64{w.PC})
				if name == "stripped" {
					w.Func = ""
				}
				assert.Equal(t, []Frame{{Func: w.Func, Addr: w.PC, Object: path}}, got)
			}
		})
	}
}

// TestSelf reads this process: its C library, if it has one, and unmapped addresses.
func TestSelf(t *testing.T) {
	table := New()
	pid := int32(os.Getpid())
	got := table.appendFrames(nil, pid, []uint64{1, 0, ^uint64(0)})
	assert.Equal(t, []Frame{{Addr: 1}, {}, {Addr: ^uint64(0) - 1}}, got)
	assert.Empty(t, table.appendFrames(nil, pid, nil))
	require.NotEmpty(t, table.Mappings(pid))
	exe, err := os.Executable()
	require.NoError(t, err)
	assert.Equal(t, exe, table.Mappings(pid)[0].Path)
}

// TestFrameBytes: frames are kept of some addresses of all processes, however long their names are.
func TestFrameBytes(t *testing.T) {
	table := NewRecorded()
	long := strings.Repeat("n", maxText)
	kept := func() (bytes int) {
		for _, p := range table.processes {
			for _, frames := range p.frames {
				for _, f := range frames {
					bytes += len(f.Func) + len(f.File)
				}
			}
		}
		return bytes
	}
	most := 0
	for pid := range int32(4) {
		table.Map(-pid-1, Mapping{Start: 0, End: 1 << 40, Path: fmt.Sprint("/nonexistent", pid), Inode: 1})
		id := identity{inode: uint64(pid) + 1}
		table.processes[-pid-1].objects[fmt.Sprint("/nonexistent", pid)] = id
		table.executables[id] = &executable{
			segments: []elf.ProgHeader{{Filesz: 1 << 40}}, symbols: []cFunction{{name: long, addr: 1, end: 1 << 40}},
		}
		for addr := range uint64(2 * maxFrameBytes / maxText / 4) {
			got := table.appendFrames(nil, -pid-1, []uint64{4096 + addr})
			require.Equal(t, long, got[0].Func)
			if addr%1000 == 0 {
				most = max(most, kept())
			}
		}
	}
	assert.LessOrEqual(t, most, maxFrameBytes)
	assert.Greater(t, most, maxFrameBytes/2, "frames of several processes are kept")
}

// TestLimits: caches do not grow with the number of processes and mappings.
func TestLimits(t *testing.T) {
	table := New()
	for pid := range int32(3 * maxProcesses) {
		table.process(-pid)
	}
	assert.LessOrEqual(t, len(table.processes), maxProcesses)
	table = NewRecorded()
	for i := range uint64(3 * maxMappings) {
		table.Map(1, Mapping{Start: i * 16, End: i*16 + 8})
	}
	assert.Len(t, table.Mappings(1), maxMappings)
}
