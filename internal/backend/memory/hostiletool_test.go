//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/memory/ring"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/words"
)

func runTask(t *testing.T, name string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envRole+"="+name)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestFullRings: writers look for tools that have ended while others register events: nothing waits for a lock, or calls the kernel,
// on a processor that it keeps for itself. Go ends a program that does.
func TestFullRings(t *testing.T) { runTask(t, "full rings") }

func fullRings() {
	f, err := Open("")
	check(err)
	defer f.Close()
	word, err := f.NewWord()
	check(err)
	r, err := f.Register(backend.Request{Command: "ue_full u64 a", Word: word})
	check(err)
	p, err := attach.Open(os.Getpid())
	check(err)
	for range 2 {
		_, err := p.Attach(attach.Options{RingSize: 4 << 10, Patterns: []string{"ue_full"}})
		check(err)
	}
	const rounds = 20_000
	var stop atomic.Bool
	var others, writers sync.WaitGroup
	memory := f.(*file).p
	others.Go(func() {
		for !stop.Load() { // the lock is taken most of the time
			memory.events.Lock()
			runtime.Gosched()
			memory.events.Unlock()
			for i := range memory.sessions {
				memory.sessions[i].checked.Store(-1 << 62)
			}
		}
	})
	for range 8 {
		writers.Go(func() {
			record := append(binary.NativeEndian.AppendUint32(nil, r.Index), make([]byte, 8)...)
			for range rounds {
				check(f.Write(record))
			}
		})
	}
	writers.Wait()
	stop.Store(true)
	others.Wait()
}

// victim is this process as a program, with one event, and what a hostile tool has of it.
type victim struct {
	t       testing.TB
	f       *file
	word    *atomic.Uintptr
	record  []byte
	page    []byte          // the control file, as tools map it
	control *layout.Control // the same
}

func newVictim(t testing.TB) *victim {
	b, err := Open("")
	require.NoError(t, err)
	v := &victim{t: t, f: b.(*file)}
	v.word, err = b.NewWord()
	require.NoError(t, err)
	r, err := b.Register(backend.Request{Command: "ue_attack u64 seq", Word: v.word})
	require.NoError(t, err)
	v.record = append(binary.NativeEndian.AppendUint32(nil, r.Index), make([]byte, 8)...)
	fd, _, err := sys.OpenMemory(link(v.f.p.files.controlFD), true, false)
	require.NoError(t, err)
	v.page, err = sys.MapWritable(fd, layout.ControlSize)
	require.NoError(t, err)
	require.NoError(t, sys.Close(fd))
	v.control = layout.ControlAt(v.page)
	t.Cleanup(func() {
		assert.NoError(t, sys.UnmapBytes(v.page))
		assert.NoError(t, b.Unregister(v.word, 0))
		b.FreeWord(v.word)
		assert.NoError(t, b.Close())
		assert.Nil(t, v.f.p.files)
	})
	return v
}

func link(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// write writes records, if a tool wants them.
func (v *victim) write(n int) {
	for range n {
		if v.word.Load()&1 != 0 {
			if err := v.f.Write(v.record); err != nil {
				require.ErrorIs(v.t, err, errno.EBADF)
			}
		}
	}
}

// honest attaches a tool, to the first session that is free.
func (v *victim) honest() *honest {
	p, err := attach.Open(os.Getpid())
	require.NoError(v.t, err)
	s, err := p.Attach(attach.Options{RingSize: 64 << 10, Patterns: []string{"ue_attack"}})
	require.NoError(v.t, err)
	return &honest{v, p, s}
}

type honest struct {
	v *victim
	p *attach.Program
	s *attach.Session
}

// gets writes records, which all must come.
func (h *honest) gets(n int) {
	h.v.t.Helper()
	h.s.Read()
	h.v.write(n)
	require.Len(h.v.t, h.s.Read(), n)
}

func (h *honest) close() {
	require.NoError(h.v.t, h.s.Detach())
	require.NoError(h.v.t, h.p.Close())
}

// expired lets the program ask again at once whether tools are alive.
func (v *victim) expired() {
	for i := range v.f.p.sessions {
		v.f.p.sessions[i].checked.Store(math.MinInt64 / 2)
	}
}

// leaks is how many descriptors and mappings there are of files in memory.
func leaks(t *testing.T) (n int) {
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	n = strings.Count(string(maps), "/memfd:userevents-")
	fds, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, "/memfd:userevents-") {
			n++
		}
	}
	return n
}

const (
	fAddSeals   = 1033
	fSealWrite  = 8
	keepSize    = 1
	punchHole   = 2
	madvRemove  = 9
	pidfdOpen   = 434
	pidfdGetfd  = 438
	pageOfTests = 4096
)

// TestSealed: what the kernel refuses for the files of a program, whatever descriptor of them a tool has.
func TestSealed(t *testing.T) {
	before := leaks(t)
	t.Run("", func(t *testing.T) {
		v := newVictim(t)
		data, control := v.f.p.files.dataFD, v.f.p.files.controlFD
		sealed := func(name string, want error, do func(data int) error) {
			t.Helper()
			require.ErrorIs(t, do(data), want, name)
		}
		mapping := func(fd, prot int, do func([]byte) error) error {
			b, err := syscall.Mmap(fd, 0, pageOfTests, prot, syscall.MAP_SHARED)
			if err != nil {
				return err
			}
			err = do(b)
			return errors.Join(err, syscall.Munmap(b))
		}
		nothing := func([]byte) error { return nil }
		again := func(fd, flags int, do func(int) error) error {
			n, err := syscall.Open(link(fd), flags|syscall.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			return errors.Join(do(n), syscall.Close(n))
		}
		addSeals := func(fd int) error { return call(syscall.SYS_FCNTL, uintptr(fd), fAddSeals, fSealWrite) }
		const rw = syscall.PROT_READ | syscall.PROT_WRITE

		sealed("write to the program's open file", errno.EPERM, func(fd int) error { _, err := syscall.Pwrite(fd, []byte{1}, 0); return err })
		sealed("map it for writing", errno.EPERM, func(fd int) error { return mapping(fd, rw, nothing) })
		sealed("mprotect of a mapping", syscall.EACCES, func(fd int) error {
			return mapping(fd, syscall.PROT_READ, func(b []byte) error { return syscall.Mprotect(b, rw) })
		})
		sealed("mprotect of a mapping that can only be read", syscall.EACCES, func(fd int) error {
			return again(fd, syscall.O_RDONLY, func(fd int) error {
				return mapping(fd, syscall.PROT_READ, func(b []byte) error { return syscall.Mprotect(b, rw) })
			})
		})
		sealed("map for writing what can only be read", syscall.EACCES, func(fd int) error {
			return again(fd, syscall.O_RDONLY, func(fd int) error { return mapping(fd, rw, nothing) })
		})
		openAgain := func(fd int) error { return again(fd, syscall.O_RDWR, func(int) error { return nil }) }
		if os.Geteuid() != 0 {
			sealed("open again", syscall.EACCES, openAgain)
		}
		require.NoError(t, syscall.Fchmod(data, 0o666)) // as its owner can
		sealed("open again", nil, openAgain)
		sealed("open again and write", errno.EPERM, func(fd int) error {
			return again(fd, syscall.O_RDWR, func(fd int) error { _, err := syscall.Write(fd, []byte{1}); return err })
		})
		sealed("open again and map for writing", errno.EPERM, func(fd int) error {
			return again(fd, syscall.O_RDWR, func(fd int) error { return mapping(fd, rw, nothing) })
		})
		sealed("duplicate the descriptor from outside", errno.EPERM, func(fd int) error {
			pidfd, _, e := syscall.Syscall(pidfdOpen, uintptr(os.Getpid()), 0, 0)
			if e != 0 {
				return e
			}
			n, _, e := syscall.Syscall(pidfdGetfd, pidfd, uintptr(fd), 0)
			if e != 0 {
				return e
			}
			_, err := syscall.Pwrite(int(n), []byte{1}, 0)
			return errors.Join(err, syscall.Close(int(n)), syscall.Close(int(pidfd)))
		})
		sealed("punch a hole", errno.EPERM, func(fd int) error { return syscall.Fallocate(fd, punchHole|keepSize, 0, pageOfTests) })
		sealed("remove pages of a mapping", syscall.EACCES, func(fd int) error {
			return mapping(fd, syscall.PROT_READ, func(b []byte) error { return syscall.Madvise(b, madvRemove) })
		})
		for name, fd := range map[string]int{"data": data, "control": control} {
			sealed(name+": shrink", errno.EPERM, func(int) error { return syscall.Ftruncate(fd, 0) })
			sealed(name+": grow", errno.EPERM, func(int) error { return syscall.Ftruncate(fd, int64(layout.FileSize)*2) })
			sealed(name+": grow by allocation", errno.EPERM, func(int) error { return syscall.Fallocate(fd, 0, int64(layout.FileSize), pageOfTests) })
			sealed(name+": truncate by its link", errno.EPERM, func(int) error { return syscall.Truncate(link(fd), 0) })
			sealed(name+": truncate by opening", errno.EPERM, func(int) error {
				return again(fd, syscall.O_RDWR|syscall.O_TRUNC, func(int) error { return nil })
			})
			sealed(name+": seal against writing", errno.EPERM, func(int) error { return addSeals(fd) })
		}
		h := v.honest()
		h.gets(3)
		h.close()
	})
	require.Equal(t, before, leaks(t))
}

func call(number, a, b, c uintptr) error {
	if _, _, e := syscall.Syscall(number, a, b, c); e != 0 {
		return e
	}
	return nil
}

// TestHostileControl: a tool writes to the control file. Session 0 belongs to a tool that is honest; session 1 was claimed, without a
// lock, by the one that is not. The file is the same for all tools, so that an attack on all of it disturbs those that are
// attached; then the next ones get their records.
func TestHostileControl(t *testing.T) {
	const mine = 1
	for _, c := range []struct {
		name     string
		attack   func(*victim, *layout.Session)
		disturbs bool
		refused  uint32
	}{
		{name: "size 0", attack: func(_ *victim, s *layout.Session) { s.RingSize.Store(0) }, refused: 22},
		{name: "size below the least", attack: func(_ *victim, s *layout.Session) { s.RingSize.Store(layout.MinRing / 2) }, refused: 22},
		{name: "size not a power of two", attack: func(_ *victim, s *layout.Session) { s.RingSize.Store(3 << 12) }, refused: 22},
		{name: "size too large", attack: func(_ *victim, s *layout.Session) { s.RingSize.Store(2 * layout.MaxRing) }, refused: 22},
		{name: "size the largest number", attack: func(_ *victim, s *layout.Session) { s.RingSize.Store(math.MaxUint64) }, refused: 22},
		{name: "size the largest power", attack: func(_ *victim, s *layout.Session) { s.RingSize.Store(1 << 63) }, refused: 22},
		{name: "no rings", attack: func(_ *victim, s *layout.Session) { s.Rings.Store(0) }, refused: 22},
		{name: "three rings", attack: func(_ *victim, s *layout.Session) { s.Rings.Store(3) }, refused: 22},
		{name: "too many rings", attack: func(_ *victim, s *layout.Session) { s.Rings.Store(2 * layout.Rings) }, refused: 22},
		{name: "rings of 2^31", attack: func(_ *victim, s *layout.Session) { s.Rings.Store(1 << 31) }, refused: 22},
		{name: "product too large", attack: func(_ *victim, s *layout.Session) { s.RingSize.Store(layout.MaxRing); s.Rings.Store(2) }, refused: 22},
		{name: "rings that are not in memory", attack: func(_ *victim, s *layout.Session) { s.RingSize.Store(2 << 20) }, refused: 12},
		{name: "sizes change when it is open", attack: func(v *victim, s *layout.Session) {
			v.write(1)
			s.RingSize.Store(layout.MaxRing)
			s.Rings.Store(layout.Rings)
		}},
		{name: "tail ahead", attack: func(v *victim, s *layout.Session) { v.write(1); tails(s, 1<<40) }},
		{name: "tail behind", attack: func(v *victim, s *layout.Session) { v.write(1); tails(s, 0) }},
		{name: "tail the largest number", attack: func(v *victim, s *layout.Session) { v.write(1); tails(s, math.MaxUint64) }},
		{name: "tail never moves", attack: func(v *victim, _ *layout.Session) { v.write(1000) }},
		{name: "tail far ahead of each record", attack: func(v *victim, s *layout.Session) {
			for range 1000 {
				tails(s, s.Tails[0].Position.Load()+12345)
				v.write(1)
			}
		}},
		{name: "generation runs", attack: func(v *victim, s *layout.Session) {
			for range 1000 {
				s.Generation.Add(1)
				v.write(1)
			}
		}},
		{name: "generation goes back", attack: func(v *victim, s *layout.Session) {
			v.write(1)
			s.Generation.Store(0)
			v.write(1)
			s.Generation.Store(math.MaxUint64)
			v.write(1)
			s.Generation.Store(1)
		}},
		{name: "return addresses without end", attack: func(v *victim, s *layout.Session) { s.Callers.Store(math.MaxUint32); v.write(3) }},
		{name: "limit that changes", attack: func(v *victim, s *layout.Session) {
			s.Limit.Store(1)
			v.write(3)
			s.Limit.Store(math.MaxUint32)
			s.Generation.Add(1)
			v.control.Requests[0].Or(1 << mine)
			v.write(3)
		}},
		{name: "expired long ago", attack: func(v *victim, s *layout.Session) {
			s.Expires.Store(1)
			v.expired()
			v.write(100)
		}},
		{name: "generation that the session with options has", attack: func(v *victim, s *layout.Session) {
			s.Limit.Store(100)
			v.write(1)
			s.Generation.Add(1)
			v.write(1)
		}},
		{name: "patterns of the largest length", attack: func(v *victim, s *layout.Session) { v.patterns(s, strings.Repeat("*a", layout.Patterns/2)) }},
		{name: "patterns without NUL", attack: func(v *victim, s *layout.Session) { v.patterns(s, strings.Repeat("u", layout.Patterns)) }},
		{name: "patterns of NUL", attack: func(v *victim, s *layout.Session) { v.patterns(s, strings.Repeat("\x00", layout.Patterns)) }},
		{name: "malformed patterns", attack: func(v *victim, s *layout.Session) { v.patterns(s, "[\x00[a-\x00\\\x00[^\x00[]a]\x00") }},
		{name: "size of patterns", attack: func(v *victim, s *layout.Session) {
			v.patterns(s, "*")
			s.PatternsSize.Store(math.MaxUint32)
			v.register()
		}},
		{name: "enable bits of nothing", attack: func(v *victim, _ *layout.Session) {
			for i := range v.control.Words {
				v.control.Words[i].Or(^uint64(0))
			}
			v.register()
		}},
		{name: "enable bit without a request", attack: func(v *victim, s *layout.Session) {
			v.control.Requests[0].And(^uint32(1 << mine))
			v.register()
		}},
		{name: "enable bits cleared", attack: func(v *victim, _ *layout.Session) {
			for i := range v.control.Words {
				v.control.Words[i].Store(0)
			}
		}, disturbs: true},
		{name: "requests of all sessions, and of none that exists", attack: func(v *victim, _ *layout.Session) {
			for i := range v.control.Requests {
				v.control.Requests[i].Or(^uint32(0))
			}
			v.register()
		}},
		{name: "all sessions claimed", attack: func(v *victim, _ *layout.Session) {
			v.control.Claimed.Store(math.MaxUint32)
			v.register()
		}},
		{name: "no session claimed", attack: func(v *victim, _ *layout.Session) { v.control.Claimed.Store(0); v.register() }},
		{name: "hole in the file", attack: func(v *victim, _ *layout.Session) {
			require.NoError(v.t, syscall.Fallocate(v.f.p.files.controlFD, punchHole|keepSize, 0, int64(layout.ControlSize)))
			v.register()
		}, disturbs: true},
		{name: "all bits", attack: func(v *victim, _ *layout.Session) { v.fill(math.MaxUint64); v.register() }, disturbs: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := leaks(t)
			t.Run("", func(t *testing.T) {
				v := newVictim(t)
				h := v.honest()
				s := &v.control.Sessions[mine]
				s.RingSize.Store(4096)
				s.Rings.Store(1)
				s.Generation.Add(1)
				v.control.Claimed.Or(1 << mine)
				v.control.Requests[0].Or(1 << mine)
				c.attack(v, s)
				v.write(3)
				shown := v.f.p.files.data.Sessions[mine].Refused.Load()
				if c.refused != 0 || !c.disturbs {
					assert.Equal(t, c.refused, shown)
				}
				if !c.disturbs {
					h.gets(10)
				}
				h.close()
				next := v.honest()
				next.gets(10)
				// None holds a lock of the hostile session, so that it comes to its end.
				testscale.Eventually(t, func() bool {
					v.expired()
					v.write(16)
					next.s.Read()
					return v.control.Requests[0].Load()&layout.AllSessions == 1
				}, "requests are left: %#x", v.control.Requests[0].Load())
				next.gets(10)
				next.close()
				assert.Zero(t, v.word.Load()&1)
			})
			require.Equal(t, before, leaks(t))
		})
	}
}

func tails(s *layout.Session, to uint64) {
	for i := range s.Tails {
		s.Tails[i].Position.Store(to)
	}
}

// patterns sets them, and lets the program look at them.
func (v *victim) patterns(s *layout.Session, text string) {
	s.PatternsSize.Store(uint32(copy(s.Patterns[:], text)))
	v.register()
}

// register registers another event, and closes it.
func (v *victim) register() {
	word, err := v.f.NewWord()
	require.NoError(v.t, err)
	r, err := v.f.Register(backend.Request{Command: "ue_other u64 seq", Word: word, Bit: 3})
	require.NoError(v.t, err)
	if word.Load()&(1<<3) != 0 {
		err := v.f.Write(append(binary.NativeEndian.AppendUint32(nil, r.Index), make([]byte, 8)...))
		if err != nil {
			require.ErrorIs(v.t, err, errno.EBADF)
		}
	}
	require.NoError(v.t, v.f.Unregister(word, 3))
	v.f.FreeWord(word)
}

// fill writes to all of the control file.
func (v *victim) fill(value uintptr) {
	for at := 0; at < len(v.page); at += words.Size {
		words.At(v.page, at).Store(value)
	}
}

// TestScribble: a tool writes nonsense to all of the control file, as fast as it can, while the program works. It disturbs all
// tools; those that attach afterwards get their records.
func TestScribble(t *testing.T) {
	before := leaks(t)
	t.Run("", func(t *testing.T) {
		v := newVictim(t)
		h := v.honest()
		var stop atomic.Bool
		var scribbler, writers sync.WaitGroup
		scribbler.Go(func() {
			rng := rand.New(rand.NewPCG(1, 2))
			for !stop.Load() {
				for range 4096 {
					words.At(v.page, rng.IntN(len(v.page)/8)*8).Store(uintptr(rng.Uint64() >> rng.IntN(64)))
				}
				runtime.Gosched()
			}
		})
		for range 2 {
			writers.Go(func() {
				for range 500 {
					v.write(16)
				}
			})
		}
		for range 300 {
			v.register()
			v.expired()
			h.s.Read()
		}
		writers.Wait()
		stop.Store(true)
		scribbler.Wait()
		require.NoError(t, h.s.Detach())
		require.NoError(t, h.p.Close())
		next := v.honest()
		next.gets(10)
		next.close()
	})
	require.Equal(t, before, leaks(t))
}

// toolOfParent takes all sessions of the process that started it.
func toolOfParent() {
	p, err := attach.Open(os.Getppid())
	check(err)
	for range layout.Sessions {
		_, err := p.Attach(attach.Options{RingSize: 4096, Patterns: []string{"ue_attack"}})
		check(err)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startTool returns a process of toolOfParent.
func startTool(t *testing.T) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), envRole+"=tool of parent")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	(&lines{out}).wait(t, "ready")
	return cmd
}

// TestStoppedTool: a tool that has all sessions is stopped. The program goes on, and no other tool finds a session. When the tool is
// killed, its events go off, and the sessions can be taken.
func TestStoppedTool(t *testing.T) {
	v := newVictim(t)
	tool := startTool(t)
	require.NoError(t, tool.Process.Signal(syscall.SIGSTOP))
	for range 1000 {
		v.expired()
		v.write(1)
	}
	assert.EqualValues(t, 1, v.word.Load()&1, "the tool lives")
	p, err := attach.Open(os.Getpid())
	require.NoError(t, err)
	_, err = p.Attach(attach.Options{})
	require.ErrorIs(t, err, attach.ErrBusy)
	require.NoError(t, p.Close())
	require.NoError(t, tool.Process.Kill())
	_ = tool.Wait()
	v.ends()
	h := v.honest()
	h.gets(10)
	h.close()
}

// ends writes until the event is off: its tools are dead.
func (v *victim) ends() {
	v.t.Helper()
	var before [layout.Sessions]uint64
	for i := range before {
		before[i] = v.control.Sessions[i].Generation.Load()
	}
	testscale.Eventually(v.t, func() bool {
		v.expired()
		v.write(16)
		return v.word.Load()&1 == 0
	}, "the event stays on: requests %#x", v.control.Requests[0].Load())
	for i := range before { // a session can be that of another tool of the machine since
		claimed := v.control.Claimed.Load()&(1<<i) != 0
		require.False(v.t, claimed && v.control.Sessions[i].Generation.Load() == before[i], "session %d", i)
	}
}

// TestKilledTool: events of a tool that was killed go off when its rings are full.
func TestKilledTool(t *testing.T) {
	for name, before := range map[string]func(*victim){
		"before the first record": func(*victim) {},
		"open":                    func(v *victim) { v.write(1) },
		"full":                    func(v *victim) { v.write(1000) },
		"refused": func(v *victim) {
			for i := range v.control.Sessions {
				v.control.Sessions[i].RingSize.Store(5)
			}
			v.write(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVictim(t)
			tool := startTool(t)
			before(v)
			require.NoError(t, tool.Process.Kill())
			_ = tool.Wait()
			v.ends()
			h := v.honest()
			h.gets(10)
			h.close()
		})
	}
}

// TestKilledToolWaits: the program asks for the tool at most once a second, however many records are lost.
func TestKilledToolWaits(t *testing.T) {
	v := newVictim(t)
	tool := startTool(t)
	v.write(1000)
	require.NoError(t, tool.Process.Kill())
	_ = tool.Wait()
	for i := range v.f.p.sessions {
		v.f.p.sessions[i].checked.Store(math.MaxInt64 / 2)
	}
	v.write(1000)
	assert.NotZero(t, v.word.Load())
	v.ends()
}

// TestSessionsChange: tools take one session from each other a thousand times while goroutines write. The records of each session are
// its own, each once, and a tool that stays has each record, or its loss.
func TestSessionsChange(t *testing.T) {
	v := newVictim(t)
	stays := v.honest()
	var stop atomic.Bool
	var sequence atomic.Uint64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			record := bytes.Clone(v.record)
			for !stop.Load() {
				binary.NativeEndian.PutUint64(record[4:], sequence.Add(1))
				check(v.f.Write(record))
				runtime.Gosched()
			}
		})
	}
	var read uint64
	last := map[uint64]bool{}
	p, err := attach.Open(os.Getpid())
	require.NoError(t, err)
	for range 1000 {
		s, err := p.Attach(attach.Options{RingSize: 4096 << rand.IntN(3), Patterns: []string{"ue_attack"}})
		require.NoError(t, err)
		seen := map[uint64]bool{}
		for range 1 + rand.IntN(3) {
			for _, r := range s.Read() {
				n := binary.NativeEndian.Uint64(r.Payload())
				require.False(t, seen[n], "twice")
				require.False(t, last[n], "also in the session before")
				require.Len(t, r.Payload(), 8)
				seen[n] = true
			}
			read += uint64(len(stays.s.Read()))
		}
		last = seen
		require.NoError(t, s.Detach())
	}
	require.NoError(t, p.Close())
	stop.Store(true)
	wg.Wait()
	read += uint64(len(stays.s.Read()))
	assert.Equal(t, sequence.Load(), read+stays.s.Lost(0))
	stays.close()
}

// TestSessionWaits: a session does not open while a writer of the one before is inside; records are lost to the new tool meanwhile, in a
// bank of its own.
func TestSessionWaits(t *testing.T) {
	v := newVictim(t)
	h := v.honest()
	h.gets(1)
	o := v.f.p.sessions[0].opened.Load()
	room, answer := o.Reserve(0, ring.Size(8))
	require.Equal(t, ring.Reserved, answer)
	h.close()
	for n := range 3 { // tools come and go
		h = v.honest()
		v.write(n + 1)
		assert.Empty(t, h.s.Read())
		assert.EqualValues(t, n+1, h.s.Lost(0))
		h.close()
	}
	require.Zero(t, o.Lose(&o.losses[0]), "a writer of the first session")
	h = v.honest()
	v.write(1)
	room.Commit(0, 1, make([]byte, 8))
	h.gets(2)
	assert.EqualValues(t, 1, h.s.Lost(0))
	h.close()
}

// FuzzControl: a program registers and writes while the control file has any content.
func FuzzControl(f *testing.F) {
	f.Add(uint32(0xffff), uint64(1), uint64(4096), uint32(1), uint32(12), []byte("ue_*\x00[\x00"), uint64(0), uint32(1), uint64(0))
	f.Add(uint32(1), uint64(0), uint64(1<<63), uint32(64), uint32(math.MaxUint32), []byte{}, uint64(math.MaxUint64), uint32(math.MaxUint32), uint64(math.MaxUint64))
	f.Add(uint32(0), uint64(math.MaxUint64), uint64(1<<20), uint32(2), uint32(0), []byte("*"), uint64(4096), uint32(2), uint64(3))
	v := newVictim(f)
	f.Fuzz(func(t *testing.T, claimed uint32, generation, size uint64, rings, patternsSize uint32, patterns []byte, tail uint64, requests uint32, options uint64) {
		v.t = t
		c := v.control
		c.Claimed.Store(claimed)
		for i := range c.Sessions {
			s := &c.Sessions[i]
			s.RingSize.Store(size)
			s.Rings.Store(rings)
			copy(s.Patterns[:], patterns)
			s.PatternsSize.Store(patternsSize)
			s.Limit.Store(uint32(options))
			s.Callers.Store(uint32(options >> 32))
			s.Expires.Store(options)
			s.Generation.Store(generation)
		}
		for i := range 4 {
			c.Requests[i].Store(requests)
		}
		c.Words[0].Store(math.MaxUint64)
		v.write(2)
		for i := range c.Sessions {
			tails(&c.Sessions[i], tail)
		}
		v.write(2)
		v.register()
		if requests&layout.AllSessions == 0 && c.Words[0].Load()&1 != 0 {
			t.Error("the bit of an event that no session wants")
		}
	})
}
