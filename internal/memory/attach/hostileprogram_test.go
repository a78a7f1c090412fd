//go:build linux && !386 && !arm && !mips && !mipsle

package attach

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/backend/memory"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/memory/layout"
	_ "github.com/userevents/userevents-go/internal/memory/private"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/sys/systest"
	"github.com/userevents/userevents-go/internal/testscale"
)

// envTask makes the test binary a program, or a tool of another user.
const envTask = "USER_EVENTS_TEST_TASK"

// TestMain fails the package when its tests leave something behind, such as the memory of a program.
func TestMain(m *testing.M) {
	if task := tasks[os.Getenv(envTask)]; task != nil {
		task()
		return
	}
	leakcheck.Main(m)
}

// fake is the memory of a program that lies. It belongs to the test's own process.
type fake struct {
	dataFD, controlFD int
	bytes, writable   []byte
	data              *layout.Data
	control           *layout.Control
}

const fakeKey = 1 << 62

// newFake makes memory with one event and one word, as a program has it.
func newFake(t testing.TB) *fake {
	f := &fake{}
	f.dataFD, f.bytes = memfd(t, layout.DataName, layout.FileSize)
	f.controlFD, f.writable = memfd(t, layout.ControlName, layout.ControlSize)
	f.data, f.control = layout.DataAt(f.bytes), layout.ControlAt(f.writable)
	f.data.Magic, f.data.Version = [8]byte([]byte(layout.Magic)), layout.Version
	f.data.Processors = 1
	var st syscall.Stat_t
	require.NoError(t, syscall.Fstat(f.controlFD, &st))
	f.data.Control = st.Ino
	f.declare(0, "ue_fake u64 a")
	f.data.Count.Store(1)
	f.data.InUse.Store(1)
	f.data.Gates[0][0].Store(1)
	return f
}

func memfd(t testing.TB, name string, size int) (int, []byte) {
	fd, err := sys.CreateMemory(name, size, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, sys.Close(fd)) })
	b, err := sys.MapWritable(fd, max(size, 1))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, sys.UnmapBytes(b)) })
	return fd, b
}

// declare makes an entry.
func (f *fake) declare(id int, command string) {
	at := id * 256
	f.data.Registry[id].Offset, f.data.Registry[id].Length = uint32(at), uint32(copy(f.data.Text[at:], command))
	f.data.Registry[id].Held.Store(1)
}

func (f *fake) seal(t testing.TB) {
	require.NoError(t, sys.SealMemory(f.dataFD, true))
	require.NoError(t, sys.SealMemory(f.controlFD, false))
}

// area is that of the first session.
func (f *fake) area() (*[layout.Rings]layout.Head, []byte) {
	b := f.bytes[layout.RingsOffset(0):]
	return layout.HeadsAt(b), b[layout.RingsStart:]
}

// open opens the session of the tool as a program does, with empty rings.
func (f *fake) open() {
	f.data.Sessions[0].Key = fakeKey
	generation := f.control.Sessions[0].Generation.Load()
	f.data.Sessions[0].Noticed.Store(generation)
	f.data.Sessions[0].Opened.Store(generation)
}

// record writes one, whose marks and lengths can be wrong.
func (f *fake) record(at, mark uint64, length, event uint32, time uint64) {
	_, data := f.area()
	binary.NativeEndian.PutUint64(data[at:], mark)
	binary.NativeEndian.PutUint32(data[at+8:], length)
	binary.NativeEndian.PutUint32(data[at+12:], event)
	binary.NativeEndian.PutUint64(data[at+16:], time)
}

const fakeRing = 16 << 10

// lease makes a file with a lease: opening it waits, 45 seconds on most systems. It returns the inode.
func lease(t *testing.T, name string, size int) uint64 {
	t.Helper()
	made, err := sys.CreateMemory(name, size, 0o600)
	require.NoError(t, err)
	// The kernel gives leases to those who have opened a file alone, and does not count memfd_create as opening.
	fd, err := syscall.Open("/proc/self/fd/"+strconv.Itoa(made), syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, sys.Close(made))
	t.Cleanup(func() { assert.NoError(t, sys.Close(fd)) })
	const fSetLease = 1024
	_, _, e := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), fSetLease, syscall.F_WRLCK)
	require.Zero(t, e)
	inode, err := sys.InodeOf(fd)
	require.NoError(t, err)
	return inode
}

// TestHostileOpen: what is wrong with files is an error.
func TestHostileOpen(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(*testing.T)
		says string
	}{
		{"data without seals", func(t *testing.T) {
			f := newFake(t)
			require.NoError(t, sys.SealMemory(f.controlFD, false))
		}, layout.DataName + ": its seals are missing"},
		{"data that can be written", func(t *testing.T) {
			f := newFake(t)
			require.NoError(t, sys.SealMemory(f.dataFD, false))
			require.NoError(t, sys.SealMemory(f.controlFD, false))
		}, layout.DataName + ": its seals are missing"},
		{"control without seals", func(t *testing.T) {
			f := newFake(t)
			require.NoError(t, sys.SealMemory(f.dataFD, true))
		}, layout.ControlName + ": its seals are missing"},
		{"data of no size", func(t *testing.T) {
			fd, _ := memfd(t, layout.DataName, 0)
			require.NoError(t, sys.SealMemory(fd, true))
		}, "it has 0 bytes"},
		{"data too short", func(t *testing.T) {
			fd, _ := memfd(t, layout.DataName, layout.DataSize)
			require.NoError(t, sys.SealMemory(fd, true))
		}, "bytes, not"},
		{"data too long", func(t *testing.T) {
			fd, _ := memfd(t, layout.DataName, layout.FileSize+4096)
			require.NoError(t, sys.SealMemory(fd, true))
		}, "bytes, not"},
		{"control too short", func(t *testing.T) {
			f := newFake(t)
			fd, _ := memfd(t, layout.ControlName, 4096)
			var st syscall.Stat_t
			require.NoError(t, syscall.Fstat(fd, &st))
			f.data.Control = st.Ino
			f.seal(t)
			require.NoError(t, sys.SealMemory(fd, false))
		}, "it has 4096 bytes"},
		{"magic", func(t *testing.T) {
			f := newFake(t)
			f.data.Magic[7] = '!'
			f.seal(t)
		}, "version"},
		{"version", func(t *testing.T) {
			f := newFake(t)
			f.data.Version = math.MaxUint32
			f.seal(t)
		}, "has version 4294967295, this tool knows 1: use a newer version"},
		{"control of another file", func(t *testing.T) {
			f := newFake(t)
			f.data.Control = ^uint64(0)
			f.seal(t)
		}, "none that belongs to the data"},
		{"control is the data", func(t *testing.T) {
			f := newFake(t)
			var st syscall.Stat_t
			require.NoError(t, syscall.Fstat(f.dataFD, &st))
			f.data.Control = st.Ino
			f.seal(t)
		}, "none that belongs to the data"},
		{"data with a lease, whose end an open waits for", func(t *testing.T) {
			lease(t, layout.DataName, layout.FileSize)
		}, "resource temporarily unavailable"},
		{"control with a lease", func(t *testing.T) {
			f := newFake(t)
			f.data.Control = lease(t, layout.ControlName, layout.ControlSize)
			f.seal(t)
		}, "resource temporarily unavailable"},
		{"no control", func(t *testing.T) {
			fd, b := memfd(t, layout.DataName, layout.FileSize)
			copy(b, layout.Magic)
			layout.DataAt(b).Version = layout.Version
			require.NoError(t, sys.SealMemory(fd, true))
		}, "none that belongs to the data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.make(t)
			before := leaks(t)
			_, err := Open(os.Getpid())
			require.ErrorContains(t, err, c.says)
			require.Equal(t, before, leaks(t))
		})
	}
}

// lockedFake is a program that has locked its data, and a tool. Numbers are those of inodes.
func lockedFake(t *testing.T) (f *fake, number uint64, p *Programs) {
	f = newFake(t)
	f.seal(t)
	_, err := sys.LockNew(f.dataFD)
	require.NoError(t, err)
	number, err = sys.InodeOf(f.dataFD)
	require.NoError(t, err)
	p = NewPrograms(ProgramsOptions{Options: Options{Patterns: []string{"*"}}})
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return f, number, p
}

// ownLock is a lock that the test's process holds.
func ownLock(number uint64) Candidate {
	return Candidate{int32(os.Getpid()), "00:01:" + strconv.FormatUint(number, 10)}
}

// TestProgramThatIsATool: a process with a program and, as a tool of others, open control files of theirs: in a directory on a disk, which
// memory of a program never is, and one that is gone when it is opened.
func TestProgramThatIsATool(t *testing.T) {
	_, number, p := lockedFake(t)
	dir := t.TempDir()
	for i := range 20 { // in any order beside the program's
		f, err := os.Create(filepath.Join(dir, layout.ControlName+"-"+strconv.Itoa(i)))
		require.NoError(t, err)
		defer f.Close()
	}
	p.update([]Candidate{ownLock(number)})
	require.NotNil(t, p.known[ownLock(number)])

	opened := p.known[ownLock(number)].program
	own := fmt.Sprintf("/proc/self/fd/%d", opened.controlFD)
	again := &Program{dataFD: -1, controlFD: -1, data: opened.data}
	require.NoError(t, again.openControl([]string{filepath.Join(dir, "gone"), own}))
	require.NoError(t, again.Close())
	again = &Program{dataFD: -1, controlFD: -1, data: opened.data}
	require.ErrorIs(t, again.openControl([]string{filepath.Join(dir, "gone")}), fs.ErrNotExist)
	require.NoError(t, again.Close())
}

// TestMissingLock: a program whose lock the kernel's list has left out has not ended.
func TestMissingLock(t *testing.T) {
	f, number, p := lockedFake(t)
	c := ownLock(number)
	p.update([]Candidate{c})
	found := p.known[c]
	require.NotNil(t, found)
	p.update(nil)
	require.False(t, found.ended)
	require.Same(t, found, p.known[c])
	require.NoError(t, syscall.Flock(f.dataFD, syscall.LOCK_UN))
	p.update(nil)
	require.True(t, found.ended)
	require.Empty(t, p.known)
}

// TestManyLocks: a process is looked at once, however many files it has locked, and new locks do not make a tool look all the time.
func TestManyLocks(t *testing.T) {
	const pid = 1 << 22 // more than there can be
	opened := 0
	p := NewPrograms(ProgramsOptions{})
	p.open = func(int) (*Program, int, error) {
		opened++
		return nil, 900, ErrNoMemory
	}
	defer func() { require.NoError(t, p.Close()) }()
	look := func(list []Candidate) (n int) {
		opened = 0
		p.update(list)
		return opened
	}
	lockFiles := func(from, to int) (list []Candidate) {
		for i := from; i < to; i++ {
			list = append(list, Candidate{pid, "00:01:" + strconv.Itoa(i)})
		}
		return list
	}
	const n = 1000
	assert.Equal(t, 1, look(lockFiles(0, n)))
	for _, want := range []int{1, 0, 0} { // it may not have been complete
		clear(p.paused)
		assert.Equal(t, want, look(lockFiles(0, n)))
	}
	for i := range 10 {
		p.paused[pid] = time.Now().Add(time.Hour)
		assert.Zero(t, look(lockFiles(n*i, n*(i+2))), "it has just been looked at")
	}
	p.expected = pid
	assert.Equal(t, 1, look(lockFiles(n, 2*n)), "a program that waits")
	p.expected = 0
	p.update(nil)
	assert.Empty(t, p.known)
	assert.Empty(t, p.begin)
}

// TestManyLocksOfProgram: a program is found among its locks, and not looked at again for new ones.
func TestManyLocksOfProgram(t *testing.T) {
	f, number, p := lockedFake(t)
	opened := 0
	p.open = func(pid int) (*Program, int, error) {
		opened++
		return open(pid)
	}
	data := ownLock(number)
	list := []Candidate{ownLock(number + 1), data, ownLock(number + 2)}
	p.update(list)
	require.NotNil(t, p.known[data])
	for i := range uint64(10) {
		list = append(list, ownLock(number+3+i))
		p.update(list)
	}
	assert.Equal(t, 1, opened)
	list[1] = ownLock(number + 100) // it has closed all events, and registers others
	require.NoError(t, syscall.Flock(f.dataFD, syscall.LOCK_UN))
	p.update(list)
	assert.Equal(t, 2, opened)
}

// leaks is how many descriptors and mappings the process has of files in memory.
func leaks(t *testing.T) int {
	n := 0
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	n += strings.Count(string(maps), "/memfd:userevents-")
	links, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, "/memfd:") {
			n++
		}
	}
	return n
}

// TestHostileMemory: memory that lies costs a bounded amount of memory, and no more records come than its rings can hold.
func TestHostileMemory(t *testing.T) {
	for _, c := range []struct {
		name    string
		before  func(*fake) // before the tool attaches
		opened  func(*fake) // when it reads
		records int         // most
		events  int         // valid ones
	}{
		{name: "honest", opened: func(f *fake) { f.heads(24); f.record(0, fakeKey, 0, 0, 1) }, records: 1, events: 1},
		{name: "text behind its end", before: func(f *fake) { f.data.Registry[0].Offset = layout.Text - 1 }},
		{name: "offset huge", before: func(f *fake) { f.data.Registry[0].Offset = math.MaxUint32 }},
		{name: "length huge", before: func(f *fake) { f.data.Registry[0].Length = math.MaxUint32 }},
		{name: "sum of both wraps", before: func(f *fake) { f.data.Registry[0].Offset, f.data.Registry[0].Length = 16, math.MaxUint32-15 }},
		{name: "length 0", before: func(f *fake) { f.data.Registry[0].Length = 0 }},
		{name: "all entries are the whole text", before: func(f *fake) {
			text := strings.Repeat("ue_fake u64 a;", layout.Text/14)
			copy(f.data.Text[:], text)
			for i := range f.data.Registry {
				f.data.Registry[i].Offset, f.data.Registry[i].Length = 0, layout.Text
			}
			f.data.Count.Store(layout.Events)
		}},
		{name: "4,096 entries of garbage", before: func(f *fake) {
			for i := range f.data.Text {
				f.data.Text[i] = byte(i*i>>3 ^ i)
			}
			for i := range f.data.Registry {
				f.data.Registry[i].Offset, f.data.Registry[i].Length = uint32(i*251), uint32(i%512)
			}
			f.data.Count.Store(layout.Events)
		}},
		{name: "control characters", before: func(f *fake) { f.declare(0, "ue_fa\x1b[2Jke u64 a") }},
		{name: "newline in a field", before: func(f *fake) { f.declare(0, "ue_fake u64 a\nb") }},
		{name: "not UTF-8", before: func(f *fake) { f.declare(0, "ue_fake\xff u64 a") }},
		{name: "does not parse", before: func(f *fake) { f.declare(0, "ue_fake u64 a; nonsense b; struct") }},
		{name: "count above the limit", before: func(f *fake) { f.data.Count.Store(math.MaxUint32) }, events: 1},
		{name: "words above the limit", before: func(f *fake) { f.data.InUse.Store(math.MaxUint32) }, events: 1},
		{name: "gates of nonsense", before: func(f *fake) {
			f.data.InUse.Store(layout.Words)
			for w := range f.data.Gates {
				for b := range f.data.Gates[w] {
					f.data.Gates[w][b].Store(math.MaxUint32 - uint32(w*b))
				}
			}
		}, events: 1},
		{name: "processors huge", before: func(f *fake) { f.data.Processors = math.MaxUint32 }, events: 1},
		{name: "head behind the start", opened: func(f *fake) {
			h, _ := f.area()
			h[0].Start = 1 << 40
			f.heads(0)
		}, events: 1},
		{name: "head ahead", opened: func(f *fake) { f.heads(math.MaxUint64) }, events: 1},
		{name: "head of an ended session", opened: func(f *fake) { f.heads(1<<63 | 8) }, events: 1},
		{name: "start not aligned", opened: func(f *fake) {
			h, _ := f.area()
			h[0].Start = 13
			f.heads(1 << 20)
			f.record(8, fakeKey+8, 0, 0, 1)
		}, records: 1, events: 1},
		{name: "start at the end of numbers", opened: func(f *fake) {
			h, _ := f.area()
			h[0].Start = math.MaxUint64
			f.heads(math.MaxUint64)
			f.record(fakeRing-8, fakeKey-8, 0, 0, 1)
		}, events: 1},
		{name: "length beyond the ring", opened: func(f *fake) { f.heads(24); f.record(0, fakeKey, fakeRing, 0, 1) }, events: 1},
		{name: "length huge in a ring", opened: func(f *fake) { f.heads(24); f.record(0, fakeKey, math.MaxUint32, 0, 1) }, events: 1},
		{name: "return addresses beyond the record", opened: func(f *fake) { f.heads(32); f.record(0, fakeKey, 8, 2<<16, 1) }, events: 1},
		{name: "return addresses beyond all limits", opened: func(f *fake) { f.heads(32); f.record(0, fakeKey, 8, math.MaxUint32, 1) }, events: 1},
		{name: "length beyond the lap", opened: func(f *fake) {
			h, _ := f.area()
			h[0].Start = fakeRing - 32
			f.heads(fakeRing + 32)
			f.record(fakeRing-32, fakeKey+fakeRing-32, 16, 0, 1)
		}, events: 1},
		{name: "each 8 bytes are a mark", opened: func(f *fake) {
			f.heads(fakeRing)
			_, data := f.area()
			for at := 0; at < fakeRing; at += 8 {
				binary.NativeEndian.PutUint64(data[at:], fakeKey+uint64(at))
			}
		}, records: fakeRing / 24, events: 1},
		{name: "key 0 in fresh memory", opened: func(f *fake) { f.data.Sessions[0].Key = 0; f.heads(1 << 30) }, records: 1, events: 1},
		{name: "chain of padding", opened: func(f *fake) {
			f.heads(math.MaxUint64)
			f.record(0, fakeKey+1, 0, 0, 1)
		}, events: 1},
		{name: "padding behind padding", opened: func(f *fake) {
			h, _ := f.area()
			h[0].Start = fakeRing - 8
			f.heads(math.MaxUint64)
			_, data := f.area()
			binary.NativeEndian.PutUint64(data[fakeRing-8:], fakeKey+fakeRing-8+1)
			f.record(0, fakeKey+fakeRing+1, 0, 0, 1)
		}, events: 1},
		{name: "times that run back", opened: func(f *fake) {
			f.heads(48)
			f.record(0, fakeKey, 0, 0, 2)
			f.record(24, fakeKey+24, 0, 0, 1)
		}, records: 2, events: 1},
		{name: "time huge", opened: func(f *fake) { f.heads(24); f.record(0, fakeKey, 0, 0, math.MaxUint64) }, records: 1, events: 1},
		{name: "event unknown", opened: func(f *fake) { f.heads(24); f.record(0, fakeKey, 0, math.MaxUint32, 1) }, records: 1, events: 1},
		{name: "bank of 7", opened: func(f *fake) { f.data.Sessions[0].Bank.Store(7) }, events: 1},
		{name: "refused and opened", opened: func(f *fake) { f.data.Sessions[0].Refused.Store(math.MaxUint32) }, events: 1},
		{name: "opened without rings", opened: func(*fake) {}, events: 1},
		{name: "not opened", events: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := leaks(t)
			t.Run("", func(t *testing.T) {
				f := newFake(t)
				if c.before != nil {
					c.before(f)
				}
				f.seal(t)
				var m, n runtime.MemStats
				runtime.ReadMemStats(&m)
				p, err := Open(os.Getpid())
				require.NoError(t, err)
				events, _ := p.Events(0)
				require.Len(t, events, c.events)
				s, err := p.Attach(Options{RingSize: fakeRing, Patterns: []string{"*"}})
				require.NoError(t, err)
				if c.opened != nil {
					f.open()
					c.opened(f)
				}
				records := 0
				for range 4 {
					records += len(s.Read())
				}
				records += len(s.Drain())
				if c.name == "honest" || c.name == "time huge" || c.name == "start not aligned" {
					assert.Equal(t, c.records, records)
				}
				assert.LessOrEqual(t, records, c.records)
				for _, id := range []uint32{0, 1, layout.Events - 1, layout.Events, math.MaxUint32} {
					assert.Zero(t, s.Lost(id))
				}
				require.NoError(t, s.Detach())
				runtime.ReadMemStats(&n)
				assert.Less(t, n.TotalAlloc-m.TotalAlloc, uint64(32<<20), "bytes allocated")
				require.True(t, sys.LockByte(p.controlFD, 0))
				require.NoError(t, p.Close())
				for i := range f.control.Requests {
					require.Zero(t, f.control.Requests[i].Load())
				}
			})
			require.Equal(t, before, leaks(t))
		})
	}
}

// heads sets the position of the first ring.
func (f *fake) heads(position uint64) {
	h, _ := f.area()
	h[0].Position.Store(position)
}

// attached is a tool of a program that lies.
func attached(t *testing.T) (*fake, *Program, *Session) {
	f := newFake(t)
	f.seal(t)
	p, err := Open(os.Getpid())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	s, err := p.Attach(Options{RingSize: fakeRing, Patterns: []string{"*"}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Detach()) })
	f.open()
	return f, p, s
}

// TestHostileCount: a count that falls and rises does not bring events again.
func TestHostileCount(t *testing.T) {
	f, _, s := attached(t)
	for range 100 {
		f.data.Count.Store(0)
		s.Read()
		f.data.Count.Store(1)
		s.Read()
	}
	assert.Equal(t, []uint32{0}, s.wanted)
}

// TestHostileHole: a ring with a record that is never complete keeps a bounded amount of those of others.
func TestHostileHole(t *testing.T) {
	f := newFake(t)
	f.data.Processors = 2
	f.seal(t)
	p, err := Open(os.Getpid())
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	const all = 64 << 10
	s, err := p.Attach(Options{RingSize: all, Patterns: []string{"*"}})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Detach()) }()
	require.Equal(t, 2, s.count)
	f.open()
	f.heads(24) // never complete
	h, data := f.area()
	data = data[s.size:][:s.size]
	position := uint64(0)
	for range 16 * all / 24 { // whatever the tail says
		at := position % s.size
		if at+24 > s.size {
			binary.NativeEndian.PutUint64(data[at:], fakeKey+position+1)
			position += s.size - at
			at = 0
		}
		binary.NativeEndian.PutUint32(data[at+8:], 0)
		binary.NativeEndian.PutUint64(data[at+16:], math.MaxUint64) // as young as can be
		binary.NativeEndian.PutUint64(data[at:], fakeKey+position)
		position += 24
		h[1].Position.Store(position)
		require.Empty(t, s.Read())
	}
	assert.Greater(t, len(s.own.held), all/24)
	assert.LessOrEqual(t, len(s.own.held), 3*all/24)
}

// TestHostileWriter: a program that overwrites what the tool reads, all the time, keeps it in no call.
func TestHostileWriter(t *testing.T) {
	f, _, s := attached(t)
	var stop atomic.Bool
	done := make(chan bool)
	go func() {
		defer close(done)
		tail := &f.control.Sessions[0].Tails[0].Position
		h, data := f.area()
		for lap := uint64(0); !stop.Load(); lap++ {
			// Records of all later laps appear wherever the tool is.
			position := tail.Load() &^ 7
			at := position % fakeRing
			if at+24 <= fakeRing {
				binary.NativeEndian.PutUint64(data[at+8:], lap%16) // lengths of 0 to 15 that change
				binary.NativeEndian.PutUint64(data[at:], fakeKey+position)
			} else {
				binary.NativeEndian.PutUint64(data[at:], fakeKey+position+1)
			}
			h[0].Position.Store(position + 64)
			f.data.Sessions[0].Key = lap // no tool looks again
		}
	}()
	for range 10_000 {
		for _, r := range s.Read() {
			if len(r.Payload()) > fakeRing/2 {
				t.Errorf("%d bytes", len(r.Payload()))
			}
		}
	}
	stop.Store(true)
	<-done
}

// TestHostileGates: the processor time of many events is not that of all gates for each.
func TestHostileGates(t *testing.T) {
	f := newFake(t)
	f.data.InUse.Store(layout.Words)
	for id := range layout.Events {
		f.declare(id, "ue_fake_"+strconv.Itoa(id))
	}
	f.seal(t)
	p, err := Open(os.Getpid())
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	least := func(events int) time.Duration {
		f.data.Count.Store(uint32(events))
		best := time.Duration(math.MaxInt64)
		for range 3 {
			before, err := systest.ProcessTime(0)
			require.NoError(t, err)
			s, err := p.Attach(Options{RingSize: fakeRing, Patterns: []string{"*"}})
			require.NoError(t, err)
			require.Len(t, s.wanted, events)
			require.NoError(t, s.Detach())
			after, err := systest.ProcessTime(0)
			require.NoError(t, err)
			best = min(best, after-before)
		}
		return best
	}
	one, many := max(least(1), 100*time.Microsecond), least(layout.Events)
	assert.Less(t, many, 500*one, "%v for one event, %v for %d", one, many, layout.Events)
}

// TestHostileLocks: a program that locks all sessions is busy.
func TestHostileLocks(t *testing.T) {
	f := newFake(t)
	f.seal(t)
	for i := range layout.Sessions {
		require.True(t, sys.LockByte(f.controlFD, i))
	}
	p, err := Open(os.Getpid())
	require.NoError(t, err)
	_, err = p.Attach(Options{})
	require.ErrorIs(t, err, ErrBusy)
	require.NoError(t, p.Close())
}

// TestGenerationLeft: a tool that has left the generation before the one that the program has open does not shut the next one out.
func TestGenerationLeft(t *testing.T) {
	for _, left := range []uint64{4, 5, math.MaxUint64} {
		t.Run(strconv.FormatUint(left, 10), func(t *testing.T) {
			f := newFake(t)
			f.seal(t)
			f.data.Sessions[0].Noticed.Store(6)
			f.data.Sessions[0].Opened.Store(5)
			f.control.Sessions[0].Generation.Store(left)
			p, err := Open(os.Getpid())
			require.NoError(t, err)
			s, err := p.Attach(Options{})
			require.NoError(t, err)
			assert.NotContains(t, []uint64{0, 5, 6}, s.generation)
			assert.Equal(t, s.generation, f.control.Sessions[0].Generation.Load())
			assert.False(t, s.open())
			require.NoError(t, s.Detach())
			require.NoError(t, p.Close())
		})
	}
}

// child is another process of this binary.
type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startChild(t *testing.T, task string, set func(*exec.Cmd)) *child {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), envTask+"="+task)
	cmd.Stderr = os.Stderr
	if set != nil {
		set(cmd)
	}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &child{cmd, in, bufio.NewReader(out)}
	t.Cleanup(c.end)
	c.line(t, "ready")
	return c
}

func (c *child) line(t *testing.T, want string) {
	t.Helper()
	line, err := c.out.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, want)
}

// next lets the child do its next step.
func (c *child) next(t *testing.T, want string) {
	t.Helper()
	_, err := io.WriteString(c.in, "\n")
	require.NoError(t, err)
	c.line(t, want)
}

func (c *child) end() {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// tasks are children: each says ready, and goes on when it gets a line.
var tasks = map[string]func(){
	"program": func() { program(func() {}) },
	"exec": func() {
		program(func() {
			must(0, os.Setenv(envTask, "idle"))
			must(0, syscall.Exec("/proc/self/exe", os.Args[:1], os.Environ()))
		})
	},
	"idle":   func() { fmt.Println("done"); step("") },
	"setuid": func() { program(func() { must(0, syscall.Setuid(nobody)) }) },
	"undumpable": func() {
		program(func() {
			if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
				panic(errno)
			}
		})
	},
	"closes": func() {
		program(func() {
			for fd := 3; fd < 64; fd++ {
				if target, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err == nil && strings.HasPrefix(target, "/memfd:") {
					must(0, syscall.Close(fd))
				}
			}
		})
	},
	"fifo": func() {
		dir := must(os.MkdirTemp("", ""))
		must(0, syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
		must(0, syscall.Mount("none", dir, "tmpfs", 0, ""))
		path := filepath.Join(dir, "memfd:"+layout.DataName)
		must(0, syscall.Mkfifo(path, 0o600))
		must(syscall.Open(path, syscall.O_RDWR, 0))
		must(0, syscall.Unmount(dir, syscall.MNT_DETACH))
		must(0, os.Remove(dir))
		fmt.Println("ready")
		step("")
	},
	"tool": func() {
		fmt.Println("ready")
		pid := 0
		must(fmt.Scanln(&pid))
		p, err := Open(pid)
		if err == nil {
			_ = p.Close()
		}
		fmt.Println("answer:", err)
		step("")
	},
}

const nobody = 65534

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return v
}

// step waits for a line, and says something.
func step(says string) {
	var b [1]byte
	if n, _ := os.Stdin.Read(b[:]); n == 0 {
		os.Exit(0)
	}
	fmt.Println(says)
}

// program is one that does something while a tool is attached, and then writes, and ends.
func program(do func()) {
	f := must(memory.Open(""))
	word := must(f.NewWord())
	r := must(f.Register(backend.Request{Command: "ue_fake u64 a", Word: word}))
	fmt.Println("ready")
	record := append(binary.NativeEndian.AppendUint32(nil, r.Index), make([]byte, 8)...)
	var b [1]byte
	for round := 0; ; round++ {
		if n, _ := os.Stdin.Read(b[:]); n == 0 {
			return
		}
		if round == 0 {
			do()
		}
		if word.Load() != 0 {
			must(0, f.Write(record))
		}
		fmt.Println("done")
	}
}

// TestProgramEnds: a program is killed at each step of a tool. Each step answers, and leaves nothing.
func TestProgramEnds(t *testing.T) {
	const steps = 6
	before := leaks(t)
	for killed := range steps {
		c := startChild(t, "program", nil)
		kill := func(now int) {
			if now == killed {
				c.end()
			}
		}
		kill(0)
		p, err := Open(c.Process.Pid)
		if killed == 0 {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		kill(1)
		events, _ := p.Events(0)
		require.Len(t, events, 1)
		s, err := p.Attach(Options{Patterns: []string{"ue_*"}})
		require.NoError(t, err)
		kill(2)
		if killed > 2 {
			c.next(t, "done")
		}
		kill(3)
		n := len(s.Read())
		kill(4)
		n += len(s.Drain())
		if killed > 2 {
			assert.Equal(t, 1, n)
		}
		require.NoError(t, s.Detach())
		kill(5)
		require.NoError(t, p.Close())
	}
	require.Equal(t, before, leaks(t))
}

// TestProgramChanges: a program changes what it is while a tool is attached.
func TestProgramChanges(t *testing.T) {
	for task, c := range map[string]struct {
		user  uint32
		again string // what opening it afterwards says
		lives bool   // its memory
	}{
		"program":    {again: "", lives: true},
		"exec":       {again: ErrNoMemory.Error()},
		"setuid":     {again: "", lives: true}, // root may read it still
		"undumpable": {user: nobody, again: "", lives: true},
		"closes":     {again: ErrNoMemory.Error(), lives: true},
	} {
		t.Run(task, func(t *testing.T) {
			testscale.NeedRoot(t, "to make programs of other users")
			before := leaks(t)
			child := startChild(t, task, as(c.user))
			p, err := Open(child.Process.Pid)
			require.NoError(t, err)
			s, err := p.Attach(Options{Patterns: []string{"ue_*"}})
			require.NoError(t, err)
			child.next(t, "done")
			want := 0
			if c.lives {
				want = 1
			}
			assert.Len(t, s.Read(), want)
			again, err := Open(child.Process.Pid)
			if c.again == "" {
				require.NoError(t, err)
				require.NoError(t, again.Close())
			} else {
				require.EqualError(t, err, c.again)
			}
			require.NoError(t, s.Detach())
			require.NoError(t, p.Close())
			require.Equal(t, before, leaks(t))
		})
	}
}

func as(user uint32) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		if user != 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		}
	}
}

// TestOtherUser: a tool of another user is refused, and so is one of the same user if the program is not dumpable.
func TestOtherUser(t *testing.T) {
	testscale.NeedRoot(t, "to make programs and tools of other users")
	for _, c := range []struct {
		task          string
		program, tool uint32
		says          string
	}{
		{"program", 0, nobody, "permission denied"},
		{"program", nobody, nobody, "<nil>"},
		{"program", nobody, nobody - 1, "permission denied"},
		{"undumpable", nobody, nobody, "permission denied"},
	} {
		p := startChild(t, c.task, as(c.program))
		p.next(t, "done")
		tool := startChild(t, "tool", as(c.tool))
		_, err := fmt.Fprintln(tool.in, p.Process.Pid)
		require.NoError(t, err)
		tool.line(t, c.says)
	}
}

// TestFIFO: a program shows a FIFO under the name of its memory, as it could between two looks of the tool. It is not opened: that
// can wait for ever.
func TestFIFO(t *testing.T) {
	testscale.NeedRoot(t, "to make a mount namespace")
	c := startChild(t, "fifo", func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS} })
	_, err := Open(c.Process.Pid)
	require.ErrorContains(t, err, "not a file of a tmpfs")
}

// FuzzEvents: whatever is in the registry, what the tool believes is valid and inside of the text.
func FuzzEvents(f *testing.F) {
	f.Add(uint32(1), []byte{0, 0, 0, 0, 13, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, []byte("ue_fake u64 a"))
	f.Add(uint32(math.MaxUint32), []byte{255, 255, 15, 0, 1, 0, 0, 0}, []byte("a\x00b\x1b"))
	data := new(layout.Data)
	p := &Program{data: data, control: new(layout.Control)}
	f.Fuzz(func(t *testing.T, count uint32, registry, text []byte) {
		clear(data.Registry[:])
		clear(data.Text[:4096])
		for i := 0; i+16 <= min(len(registry), 16*64); i += 16 {
			e := &data.Registry[i/16]
			e.Offset, e.Length = binary.NativeEndian.Uint32(registry[i:]), binary.NativeEndian.Uint32(registry[i+4:])
			e.Held.Store(binary.NativeEndian.Uint32(registry[i+8:]))
		}
		copy(data.Text[:4096], text)
		data.Count.Store(count)
		events, next := p.Events(0)
		if next != min(count, layout.Events) {
			t.Errorf("goes on from %d of %d", next, count)
		}
		for _, e := range events {
			if err := e.Declaration.Validate(); err != nil || e.ID >= next {
				t.Errorf("event %d: %v", e.ID, err)
			}
		}
	})
}

// TestHostileTime: the time of a record is neither 0, which is none, nor in the future: such a record would wait, and later ones would come
// after it.
func TestHostileTime(t *testing.T) {
	f, _, s := attached(t)
	began := Now()
	times := []uint64{0, 5, began, began + uint64(time.Hour), math.MaxUint64}
	f.heads(24 * uint64(len(times)))
	for i, at := range times {
		f.record(uint64(24*i), fakeKey+uint64(24*i), 0, 0, at)
	}
	list := s.Read()
	list = append(list, s.Read()...) // those that are cut to the time of the first call
	ended := Now()
	require.Len(t, list, len(times))
	for i, want := range []uint64{1, 5, began} {
		assert.Equal(t, want, list[i].Time)
	}
	for _, r := range list[3:] {
		assert.GreaterOrEqual(t, r.Time, began)
		assert.LessOrEqual(t, r.Time, ended)
	}
}
