//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"cmp"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/sys"
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

	size    int   // of payloads, if it is not 8
	before  int32 // the program of the last record
	changes int
}

func gather(t *testing.T, o attach.Options, programs ...*child) *gathered {
	t.Helper()
	return gatherWith(t, attach.ProgramsOptions{Options: o}, programs...)
}

func gatherWith(t *testing.T, o attach.ProgramsOptions, programs ...*child) *gathered {
	g := &gathered{t: t, read: map[int32]int{}, ended: map[int32]bool{}}
	for _, p := range programs {
		g.own = append(g.own, int32(p.pid))
	}
	o.Patterns = []string{"ue_*"}
	o.WantsProcess = func(pid int32) bool { return slices.Contains(g.own, pid) }
	if o.Failed == nil {
		o.Failed = func(pid int32, err error) { assert.NoError(t, err, "process %d", pid) }
	}
	o.Ended = func(list []*attach.Source) { g.ended[list[0].PID] = true }
	g.Programs = attach.NewPrograms(o)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	return g
}

// poll reads what there is.
func (g *gathered) poll() {
	g.Poll()
	for r := (attach.Record{}); g.Next(&r); {
		require.False(g.t, g.ended[r.Source.PID])
		require.GreaterOrEqual(g.t, len(r.Payload()), cmp.Or(g.size, 8))
		require.EqualValues(g.t, r.Source.PID, binary.NativeEndian.Uint32(r.Raw[4:]), "common_pid")
		g.read[r.Source.PID]++
		if r.Source.PID != g.before {
			g.before = r.Source.PID
			g.changes++
		}
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

// TestProgramBegins: a tool that finds files before they are complete attaches when they are.
func TestProgramBegins(t *testing.T) {
	f := &files{dataFD: -1, controlFD: -1}
	require.NoError(t, f.openIn(t.TempDir()))
	t.Cleanup(func() { require.NoError(t, f.close()) })
	g := gather(t, attach.Options{}, &child{pid: os.Getpid()})
	require.NoError(t, g.Find())
	data, err := sys.MapShared(f.dataFD, nil, layout.FileSize)
	require.NoError(t, err)
	f.data = (*layout.Data)(data)
	control, err := sys.MapShared(f.controlFD, nil, layout.ControlSize)
	require.NoError(t, err)
	f.control = (*layout.Control)(control)
	inode, err := sys.InodeOf(f.controlFD)
	require.NoError(t, err)
	f.describe(inode, false)
	require.NoError(t, g.Find())
	assert.EqualValues(t, 1, f.control.Claimed.Load())
}

// TestReadCutOff: a tool survives programs whose files are cut off, at whatever it does, and reads the others.
func TestReadCutOff(t *testing.T) {
	for _, c := range []struct {
		name, file string
		then       func(*gathered)
	}{
		{"poll", layout.DataName, func(*gathered) {}},
		{"find", layout.ControlName, func(g *gathered) { require.NoError(t, g.Find()) }},
		{"losses", layout.DataName, func(g *gathered) {
			g.Sources(func(s *attach.Source) { assert.Zero(t, s.Lost()) })
		}},
		{"stop", layout.ControlName, func(g *gathered) { g.Stop() }},
		{"close", layout.ControlName, func(g *gathered) { require.NoError(t, g.Close()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			cut, other := startReady(t, inDirectory(dir)), startReady(t, childOptions{role: "program"})
			g := gather(t, attach.Options{}, cut, other)
			require.NoError(t, g.Find())
			require.Equal(t, "wrote", cut.asked("write 10 12"))
			require.Equal(t, "wrote", other.asked("write 10 12"))
			g.until("both", func() bool { return g.read[int32(cut.pid)] == 10 && g.read[int32(other.pid)] == 10 })
			list, err := filepath.Glob(filepath.Join(dir, c.file+"-*"))
			require.NoError(t, err)
			require.Len(t, list, 1)
			require.NoError(t, os.Truncate(list[0], 0))
			c.then(g)
			if c.name == "close" || c.name == "stop" {
				return
			}
			require.NoError(t, g.Find())
			g.until("end", func() bool { return g.ended[int32(cut.pid)] })
			require.Equal(t, "wrote", other.asked("write 10 12"))
			g.until("the other", func() bool { return g.read[int32(other.pid)] == 20 })
		})
	}
}

// TestProgramsInOrder: records of programs at full rate come in the order of their times, and none comes after a younger one.
func TestProgramsInOrder(t *testing.T) {
	for _, ring := range []int{64 << 10, 1 << 20} {
		t.Run(strconv.Itoa(ring), func(t *testing.T) {
			g := gatherWith(t, attach.ProgramsOptions{
				Options:  attach.Options{RingSize: ring},
				Patience: testscale.Patience, // a goroutine may have no processor for long
			})
			const programs = 4
			for range programs {
				p := begin(t, 0)
				t.Cleanup(func() {
					_ = p.cmd.Process.Kill()
					_ = p.cmd.Wait()
					require.NoError(t, sys.UnmapBytes(p.w))
				})
				g.own = append(g.own, int32(p.cmd.Process.Pid))
			}
			g.size = 24 // and more
			least := testscale.Count(20_000, 2_000)
			g.until("records of each", func() bool {
				for _, pid := range g.own {
					if g.read[pid] < least {
						return false
					}
				}
				return true
			})
			changes := g.changes
			t.Logf("%v records, of another program than the one before: %d", g.read, changes)
			assert.Greater(t, changes, programs, "they ran at the same time")
			assert.Zero(t, g.late)
			assert.Zero(t, g.Late())
		})
	}
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

// TestBusyProgram: a tool that finds all sessions of a program taken says so once, and attaches when one is free.
func TestBusyProgram(t *testing.T) {
	program := startReady(t, childOptions{role: "program"})
	var tools []func() error
	for { // other tools of the machine may have some
		p, err := attach.Open(program.pid)
		require.NoError(t, err)
		s, err := p.Attach(attach.Options{Patterns: []string{"ue_other"}})
		if errors.Is(err, attach.ErrBusy) {
			require.NoError(t, p.Close())
			break
		}
		require.NoError(t, err)
		tools = append(tools, func() error { return errors.Join(s.Detach(), p.Close()) })
	}
	var failed []error
	g := gatherWith(t, attach.ProgramsOptions{Failed: func(_ int32, err error) { failed = append(failed, err) }}, program)
	for range 3 {
		require.NoError(t, g.Find())
	}
	require.Len(t, failed, 1)
	require.ErrorIs(t, failed[0], attach.ErrBusy)
	require.NoError(t, tools[0]())
	require.NoError(t, g.Find())
	require.Equal(t, "wrote", program.asked("write 10 12"))
	g.until("attached", func() bool { return g.read[int32(program.pid)] == 10 })
	for _, end := range tools[1:] {
		require.NoError(t, end())
	}
}
