//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"cmp"
	"encoding/binary"
	"maps"
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
	own   []int32
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
	o.Failed = func(pid int32, err error) { assert.NoError(t, err, "process %d", pid) }
	o.Ended = func(_ uint64, list []*attach.Source) { g.ended[list[0].PID] = true }
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

// find attaches to all programs. A single look can miss one: the kernel lists locks in several parts, and others go meanwhile.
func (g *gathered) find() {
	g.t.Helper()
	testscale.Eventually(g.t, func() bool {
		require.NoError(g.t, g.Find())
		attached := maps.Clone(g.ended)
		g.Sources(func(s *attach.Source) { attached[s.PID] = true })
		return !slices.ContainsFunc(g.own, func(pid int32) bool { return !attached[pid] })
	}, "programs that are not attached")
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
	g.find()
	write := func(p *child) { require.Equal(t, "wrote", p.asked("write %d 12", n)) }
	write(first)
	write(inFiles)
	all := func(p *child, want int) func() bool { return func() bool { return g.read[int32(p.pid)] == want } }
	g.until("the first", all(first, n))
	g.until("in files", all(inFiles, n))

	late := startReady(t, childOptions{role: "program"})
	g.own = append(g.own, int32(late.pid))
	g.find()
	write(late)
	require.NoError(t, late.cmd.Process.Kill())
	_ = late.cmd.Wait()
	g.until("killed", func() bool { return g.ended[int32(late.pid)] })
	assert.Equal(t, n, g.read[int32(late.pid)])

	require.Equal(t, "closed", first.asked("close"))
	g.until("closed", func() bool { return g.ended[int32(first.pid)] })
	g.ended[int32(first.pid)] = false
	require.Equal(t, "opened", first.asked("open"))
	g.find()
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
	assert.Zero(t, f.control.Claimed.Load(), "without events")
	f.data.Registry[0].Length = uint32(copy(f.data.Text[:], "ue_begins"))
	f.data.Count.Store(1)
	g.find()
	assert.EqualValues(t, 1, f.control.Claimed.Load())
}

// TestOtherLocks: programs also lock files of their own. A tool attaches once, and sees when the memory is closed.
func TestOtherLocks(t *testing.T) {
	dir := t.TempDir()
	program := startChild(t, childOptions{role: "idle"})
	g := gather(t, attach.Options{}, program)
	lock := func(name string) { require.Equal(t, "locked", program.asked("lock %s", filepath.Join(dir, name))) }
	lock("before")
	require.NoError(t, g.Find())
	for n := 1; n <= 2; n++ {
		require.Equal(t, "opened", program.asked("open"))
		lock("after" + strconv.Itoa(n))
		g.find()
		require.NoError(t, g.Find())
		require.Equal(t, "wrote", program.asked("write 10 12"))
		g.until("all", func() bool { return g.read[int32(program.pid)] >= 10*n })
		g.poll()
		assert.Equal(t, 10*n, g.read[int32(program.pid)])
		require.Equal(t, "closed", program.asked("close"))
		g.until("closed", func() bool { return g.ended[int32(program.pid)] })
		g.ended[int32(program.pid)] = false
	}
	program.end()
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
			g.find()
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
			// One look can find the rings of each full: a program that had a processor filled them before another had it.
			g.until("records of each, by turns", func() bool {
				few := func(pid int32) bool { return g.read[pid] < least }
				return g.changes > programs && !slices.ContainsFunc(g.own, few)
			})
			t.Logf("%v records, of another program than the one before: %d", g.read, g.changes)
			assert.Zero(t, g.late)
			assert.Zero(t, g.Late())
		})
	}
}

// TestProgramsBusy: a tool takes no session of a program without events that it wants, and waits where all are taken.
func TestProgramsBusy(t *testing.T) {
	program := startReady(t, childOptions{role: "program"})
	p, err := attach.Open(program.pid)
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	take := func() *attach.Session {
		s, err := p.Attach(attach.Options{RingSize: layout.MinRing, Patterns: []string{"other"}})
		require.NoError(t, err)
		return s
	}
	var sessions []*attach.Session
	for range layout.Sessions - 1 {
		sessions = append(sessions, take())
	}
	wantsProcess := func(pid int32) bool { return int(pid) == program.pid }
	idle := attach.NewPrograms(attach.ProgramsOptions{Options: attach.Options{Patterns: []string{"other"}}, WantsProcess: wantsProcess})
	defer func() { require.NoError(t, idle.Close()) }()
	for range 3 {
		require.NoError(t, idle.Find())
	}
	sessions = append(sessions, take())

	failed := 0
	o := attach.ProgramsOptions{Options: attach.Options{Patterns: []string{"ue_*"}}, WantsProcess: wantsProcess}
	o.Failed = func(_ int32, err error) {
		failed++
		assert.ErrorIs(t, err, attach.ErrBusy)
	}
	waits := attach.NewPrograms(o)
	defer func() { require.NoError(t, waits.Close()) }()
	for range 3 {
		require.NoError(t, waits.Find())
	}
	assert.Equal(t, "enabled=false", program.asked("enabled"))
	require.NoError(t, sessions[0].Detach())
	testscale.Eventually(t, func() bool {
		require.NoError(t, waits.Find())
		return program.asked("enabled") == "enabled=true"
	}, "the tool does not get the session that is free")
	assert.Equal(t, 1, failed)
	for _, s := range sessions[1:] {
		require.NoError(t, s.Detach())
	}
	program.end()
}

// TestStoppedProgram: the records of other programs wait only so long for those of one that is stopped within a record.
func TestStoppedProgram(t *testing.T) {
	stuck, other := startReady(t, childOptions{role: "program"}), startReady(t, childOptions{role: "program"})
	g := gather(t, attach.Options{}, stuck, other)
	g.find()
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

// TestStopBehindHole: after Stop, records are read that are behind one which is not complete: nothing waits for it any more. Those
// of other programs do not wait either.
func TestStopBehindHole(t *testing.T) {
	stuck, other := startReady(t, childOptions{role: "program"}), startReady(t, childOptions{role: "program"})
	g := gather(t, attach.Options{RingSize: layout.MinRing}, stuck, other) // one ring
	g.find()
	require.Equal(t, "wrote", stuck.asked("write 1 12"))
	require.Equal(t, "reserved", stuck.asked("reserve"))
	require.Equal(t, "wrote", stuck.asked("write 10 12"))
	require.Equal(t, "wrote", other.asked("write 10 12"))
	g.Stop()
	g.poll()
	assert.Equal(t, map[int32]int{int32(stuck.pid): 11, int32(other.pid): 10}, g.read)
	assert.Zero(t, g.Late())
}

// TestStoppedReader: a tool that was stopped for longer than its expiry goes on.
func TestStoppedReader(t *testing.T) {
	program := startReady(t, childOptions{role: "program"})
	g := gather(t, attach.Options{RingSize: layout.MinRing}, program)
	g.find()
	require.Equal(t, "expired", program.asked("expired")) // as if it had been stopped
	assert.Equal(t, "enabled=false", program.asked("enabled"))
	require.NoError(t, g.Find())
	assert.Equal(t, "enabled=true", program.asked("enabled"))
	g.poll()
	before := g.read[int32(program.pid)]
	require.Equal(t, "wrote", program.asked("write 10 12"))
	g.until("again", func() bool { return g.read[int32(program.pid)] == before+10 })
}

// TestRingMemory: a tool whose rings have no memory for another program says so once, and attaches to it when the other has ended.
func TestRingMemory(t *testing.T) {
	programs := map[int32]*child{}
	for range 2 {
		p := startReady(t, childOptions{role: "program"})
		programs[int32(p.pid)] = p
	}
	failed := map[int32]int{}
	o := attach.ProgramsOptions{Options: attach.Options{Patterns: []string{"ue_*"}}, RingMemory: 100 << 10}
	o.WantsProcess = func(pid int32) bool { return programs[pid] != nil }
	o.Failed = func(pid int32, err error) {
		failed[pid]++
		assert.ErrorIs(t, err, attach.ErrTooManyPrograms)
	}
	tool := attach.NewPrograms(o)
	defer func() { require.NoError(t, tool.Close()) }()
	attached := func() (pid int32) {
		require.NoError(t, tool.Find())
		tool.Poll()
		for r := (attach.Record{}); tool.Next(&r); {
			continue
		}
		tool.Sources(func(s *attach.Source) { pid = s.PID })
		return pid
	}
	testscale.Eventually(t, func() bool { return attached() > 0 && len(failed) > 0 }, "no program is attached to, or both are")
	first := attached()
	attached()
	for pid, n := range failed {
		assert.NotEqual(t, first, pid)
		assert.Equal(t, 1, n)
	}
	programs[first].end()
	testscale.Eventually(t, func() bool { pid := attached(); return pid > 0 && pid != first }, "the other one is not attached to")
}
