//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/testscale"
)

// gathered is what a tool has seen of the programs of a test.
type gathered struct {
	*attach.Programs

	t     *testing.T
	own   []int32 // other tests run programs, too
	read  map[int32]int
	ended map[int32]bool
	last  uint64
	late  int
}

func gather(t *testing.T, o attach.Options, programs ...*child) *gathered {
	g := &gathered{t: t, read: map[int32]int{}, ended: map[int32]bool{}}
	for _, p := range programs {
		g.own = append(g.own, int32(p.pid))
	}
	o.Patterns = []string{"ue_*"}
	g.Programs = attach.NewPrograms(attach.ProgramsOptions{
		Options:      o,
		WantsProcess: func(pid int32) bool { return slices.Contains(g.own, pid) },
		Failed:       func(pid int32, err error) { assert.NoError(t, err, "process %d", pid) },
		Ended:        func(list []*attach.Source) { g.ended[list[0].PID] = true },
	})
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	return g
}

// poll reads what there is.
func (g *gathered) poll() {
	g.Poll()
	for r := (attach.Record{}); g.Next(&r); {
		require.False(g.t, g.ended[r.Source.PID])
		require.Len(g.t, r.Payload(), 8)
		require.EqualValues(g.t, r.Source.PID, binary.NativeEndian.Uint32(r.Raw[4:]), "common_pid")
		g.read[r.Source.PID]++
		if r.Time < g.last {
			g.late++
		}
		g.last = r.Time
	}
}

// until polls until a condition holds.
func (g *gathered) until(what string, ok func() bool) {
	g.t.Helper()
	testscale.Eventually(g.t, func() bool {
		require.NoError(g.t, g.Find())
		g.poll()
		return ok()
	}, "%s: %v", what, g.read)
}

// TestPrograms: a tool finds programs that run, that begin, and that have new memory, and reads to the end of those that end or are killed.
func TestPrograms(t *testing.T) {
	const n = 1000
	first := startReady(t, childOptions{role: "program"})
	inFiles := startReady(t, inDirectory(t.TempDir()))
	g := gather(t, attach.Options{}, first, inFiles)
	require.NoError(t, g.Find())
	write := func(p *child) { require.Equal(t, "wrote", p.asked("write %d 12", n)) }
	write(first)
	write(inFiles)
	all := func(p *child, want int) func() bool { return func() bool { return g.read[int32(p.pid)] == want } }
	g.until("the first", all(first, n))
	g.until("in files", all(inFiles, n))

	late := startReady(t, childOptions{role: "program"})
	g.own = append(g.own, int32(late.pid))
	require.NoError(t, g.Find())
	write(late)
	require.NoError(t, late.cmd.Process.Kill())
	_ = late.cmd.Wait()
	g.until("killed", func() bool { return g.ended[int32(late.pid)] })
	assert.Equal(t, n, g.read[int32(late.pid)])

	require.Equal(t, "closed", first.asked("close"))
	g.until("closed", func() bool { return g.ended[int32(first.pid)] })
	g.ended[int32(first.pid)] = false
	require.Equal(t, "opened", first.asked("open"))
	require.NoError(t, g.Find())
	write(first)
	g.until("again", all(first, 2*n))

	g.Stop()
	require.Equal(t, "enabled=false", first.asked("enabled"))
	sources := 0
	g.Sources(func(s *attach.Source) {
		sources++
		assert.EqualValues(t, n, s.Read)
		assert.Zero(t, s.Lost())
	})
	assert.Equal(t, 2, sources)
	assert.Zero(t, g.late)
	assert.Zero(t, g.Late())
}

// TestStoppedProgram: the records of other programs wait only so long for those of one that is stopped within a record.
func TestStoppedProgram(t *testing.T) {
	stuck, other := startReady(t, childOptions{role: "program"}), startReady(t, childOptions{role: "program"})
	g := gather(t, attach.Options{}, stuck, other)
	require.NoError(t, g.Find())
	require.Equal(t, "wrote", stuck.asked("write 1 12"))
	g.poll()
	require.Equal(t, "reserved", stuck.asked("reserve"))
	require.Equal(t, "wrote", other.asked("write 10 12"))
	g.poll()
	assert.Equal(t, map[int32]int{int32(stuck.pid): 1}, g.read, "they wait")
	g.until("patience", func() bool { return g.read[int32(other.pid)] == 10 })
	require.Equal(t, "committed", stuck.asked("commit"))
	g.until("late", func() bool { return g.read[int32(stuck.pid)] == 2 })
	assert.Equal(t, 1, g.late)
	assert.EqualValues(t, 1, g.Late())
	// From then on, order is exact again.
	require.Equal(t, "wrote", stuck.asked("write 1 12"))
	require.Equal(t, "wrote", other.asked("write 10 12"))
	g.until("again", func() bool { return g.read[int32(other.pid)] == 20 })
	assert.Equal(t, 1, g.late)
}

// TestStoppedReader: a tool that was stopped for longer than its expiry goes on.
func TestStoppedReader(t *testing.T) {
	program := startReady(t, childOptions{role: "program"})
	g := gather(t, attach.Options{RingSize: layout.MinRing}, program)
	require.NoError(t, g.Find())
	require.Equal(t, "expired", program.asked("expired")) // as if it had been stopped
	assert.Equal(t, "enabled=false", program.asked("enabled"))
	require.NoError(t, g.Find())
	assert.Equal(t, "enabled=true", program.asked("enabled"))
	g.poll()
	before := g.read[int32(program.pid)]
	require.Equal(t, "wrote", program.asked("write 10 12"))
	g.until("again", func() bool { return g.read[int32(program.pid)] == before+10 })
}

// TestCutProgram: a program whose files are cut off does not end the tool, whatever the tool does next, and other programs are read.
func TestCutProgram(t *testing.T) {
	const n = 100
	other := startReady(t, childOptions{role: "program"})
	for _, files := range []string{"userevents-data-*", "userevents-control-*", "userevents-*"} {
		for name, next := range map[string]func(*gathered){
			"poll": func(g *gathered) { g.poll() }, "find": func(g *gathered) { require.NoError(t, g.Find()) },
			"stop": func(g *gathered) { g.Stop() }, "lost": func(g *gathered) { g.Sources(func(s *attach.Source) { assert.Zero(t, s.Lost()) }) },
			"close": func(*gathered) {},
		} {
			t.Run(files+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				cut := startReady(t, inDirectory(dir))
				g := gather(t, attach.Options{}, cut, other)
				require.NoError(t, g.Find())
				require.Equal(t, "wrote", cut.asked("write %d 12", n))
				paths, err := filepath.Glob(filepath.Join(dir, files))
				require.NoError(t, err)
				require.NotEmpty(t, paths)
				for _, path := range paths {
					require.NoError(t, os.Truncate(path, 0))
				}
				next(g)
				if name == "stop" || name == "close" {
					return
				}
				require.Equal(t, "wrote", other.asked("write %d 12", n))
				g.until("the other", func() bool { return g.read[int32(other.pid)] == n && g.ended[int32(cut.pid)] })
			})
		}
	}
}

// TestCutBefore: a program whose files are cut off is not attached to, and that is reported.
func TestCutBefore(t *testing.T) {
	dir := t.TempDir()
	cut := startReady(t, inDirectory(dir))
	paths, err := filepath.Glob(filepath.Join(dir, "userevents-*"))
	require.NoError(t, err)
	require.Len(t, paths, 2)
	for _, path := range paths {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.NoError(t, os.Truncate(path, 0))
		require.NoError(t, os.Truncate(path, info.Size())) // zeros: other than a file that is too short, it is opened
	}
	var failed error
	p := attach.NewPrograms(attach.ProgramsOptions{
		WantsProcess: func(pid int32) bool { return pid == int32(cut.pid) },
		Failed:       func(_ int32, err error) { failed = err },
	})
	require.NoError(t, p.Find())
	require.ErrorContains(t, failed, "it has version 0")
	require.NoError(t, p.Close())
}
