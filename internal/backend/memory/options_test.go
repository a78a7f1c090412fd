//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"errors"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
)

// attached attaches a tool to the test's program.
func attached(t *testing.T, o attach.Options) *attach.Session {
	t.Helper()
	a, err := attach.Open(os.Getpid())
	require.NoError(t, err)
	o.Patterns = []string{"ue_env"}
	s, err := a.Attach(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(s.Detach(), a.Close())) })
	return s
}

// writeWhileEnabled returns how many records a program has written before its event was disabled.
func (p *subject) writeWhileEnabled(t *testing.T) (n int) {
	t.Helper()
	for ; p.enabled(); n++ {
		require.Less(t, n, 10_000_000, "the event stays enabled")
		p.write(1, 12)
	}
	return n
}

// TestLimit: a program writes so many records of an event in a second, and then disables it.
func TestLimit(t *testing.T) {
	const limit = 10
	p := openSubject(t)
	t.Cleanup(func() { p.close(t) })
	s := attached(t, attach.Options{Limit: limit})
	second := func() int64 { return sys.Nanotime() / int64(time.Second) }
	for began := int64(-1); began != second(); { // until all of it fits into a second
		used := second()
		testscale.Eventually(t, func() bool { return second() != used }, "the clock stands")
		began = second()
		s.Resume()
		n := p.writeWhileEnabled(t) - 1 // the last is the one too many
		assert.GreaterOrEqual(t, n, limit)
		assert.Len(t, s.Read(), n)
		s.Resume()
		again := p.writeWhileEnabled(t) - 1
		assert.Len(t, s.Read(), again)
		if began == second() {
			assert.Equal(t, []int{limit, 0}, []int{n, again}, "in the same second")
		}
		assert.Zero(t, s.Lost(0))
		assert.Equal(t, []uint32{0}, s.Resume())
		assert.Empty(t, s.Resume(), "enabled")
		assert.True(t, p.enabled())
	}
	// Another session has all of them.
	other := attached(t, attach.Options{})
	s.Resume()
	p.write(3*limit, 12)
	assert.Len(t, other.Read(), 3*limit)
	assert.True(t, p.enabled())
}

// TestLimitShared: goroutines that share an event keep to its limit, also while a second ends.
func TestLimitShared(t *testing.T) {
	second := func() int64 { return sys.Nanotime() / int64(time.Second) }
	for _, limit := range []uint32{0, 1, 1000, math.MaxUint32} {
		o := &options{limit: limit}
		first := second()
		var allowed, refused atomic.Int64
		var used sync.Map // seconds in which all was written that the limit allows
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				own := map[int64]bool{}
				for n := 0; n < 2000 || len(own) < 2 && limit == 1000; n++ {
					now := second()
					if o.allows(3) {
						allowed.Add(1)
						continue
					}
					refused.Add(1)
					if now == second() {
						own[now] = true
						used.Store(now, true)
					}
				}
			})
		}
		wg.Wait()
		seconds := second() - first + 1
		if most, least := int64(limit), int64(0); limit == 1 || limit == 1000 {
			assert.LessOrEqual(t, allowed.Load(), most*seconds)
			used.Range(func(any, any) bool { least += most; return true })
			assert.GreaterOrEqual(t, allowed.Load(), least)
			assert.NotZero(t, refused.Load())
		} else {
			assert.Zero(t, refused.Load())
		}
		assert.Zero(t, o.written[2].Load(), "another event")
	}
}

// TestWithdraw: what a program takes from a session that has ended is never what the session's next tool has asked for.
func TestWithdraw(t *testing.T) {
	v := newVictim(t)
	const i = 2
	w, generation := &v.control.Requests[0], &v.control.Sessions[i].Generation
	w.Store(1 << i)
	v.f.p.withdraw(w, i, 0)
	require.Zero(t, w.Load())
	var ended, calls atomic.Uint64
	var stop atomic.Bool
	var program sync.WaitGroup
	defer program.Wait()
	defer stop.Store(true)
	program.Go(func() {
		for ; !stop.Load(); calls.Add(1) {
			v.f.p.withdraw(w, i, ended.Load())
			if runtime.GOMAXPROCS(0) == 1 { // else the two meet the more often without
				runtime.Gosched()
			}
		}
	})
	for n := range rounds(testscale.Count(20_000, 5000)) {
		g := uint64(n)
		generation.Store(g)
		ended.Store(g)
		for before := calls.Load(); calls.Load() == before; { // it takes what it finds
			runtime.Gosched()
		}
		generation.Store(g + 1) // the next tool
		w.Or(1 << i)
		for before := calls.Load(); calls.Load() < before+2; {
			runtime.Gosched()
		}
		require.EqualValues(t, 1<<i, w.Load())
	}
}

// TestExpires: a session whose tool does not read ends at its time, though the tool lives. The program looks at its 16th loss, and not before:
// looking reads a clock, and may wait.
func TestExpires(t *testing.T) {
	for name, o := range map[string]attach.Options{"plain": {}, "limit": {Limit: math.MaxInt32}, "callers": {Callers: 1}, "files": {}, "two tools": {}} {
		t.Run(name, func(t *testing.T) {
			if name == "files" {
				t.Setenv(envDir, t.TempDir())
			}
			p := openSubject(t)
			t.Cleanup(func() { p.close(t) })
			o.RingSize, o.Expires = layout.MinRing, 1
			s := attached(t, o)
			if name == "two tools" {
				attached(t, attach.Options{})
			}
			for process().files.control.Claimed.Load()&1 != 0 {
				p.write(1, 12)
				require.LessOrEqual(t, s.Lost(0), uint64(16))
			}
			assert.EqualValues(t, 16, s.Lost(0))
			assert.NotEmpty(t, s.Read())
			assert.Equal(t, name == "two tools", p.enabled())

			later := attached(t, attach.Options{RingSize: layout.MinRing, Expires: uint64(sys.Nanotime() + int64(time.Hour))})
			p.write(1000, 12)
			assert.True(t, p.enabled())
			assert.EqualValues(t, 1000, uint64(len(later.Read()))+later.Lost(0))
		})
	}
}

// TestCallers: records have the functions that wrote them, innermost first, if a tool asks for them.
func TestCallers(t *testing.T) {
	t.Run("memory", testCallers)
	t.Setenv(envDir, t.TempDir())
	t.Run("files", testCallers)
}

func testCallers(t *testing.T) {
	p := openSubject(t)
	t.Cleanup(func() { p.close(t) })
	without := attached(t, attach.Options{})
	some := attached(t, attach.Options{Callers: 3})
	many := attached(t, attach.Options{Callers: 1 << 20})
	const size = 4 + 100
	deep(70, func() { p.write(1, size) })
	names := func(s *attach.Session) (list []string) {
		records := s.Read()
		require.Len(t, records, 1)
		assert.Len(t, records[0].Payload(), size-4)
		for _, pc := range records[0].Callers {
			f, _ := runtime.CallersFrames([]uintptr{uintptr(pc)}).Next()
			list = append(list, f.Function[strings.LastIndex(f.Function, ".")+1:])
		}
		return list
	}
	assert.Empty(t, names(without))
	assert.Equal(t, []string{"write", "func2", "deep"}, names(some))
	list := names(many)
	assert.Len(t, list, layout.Callers)
	assert.Equal(t, "write", list[0])
}

//go:noinline
func deep(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deep(n-1, f)
	runtime.KeepAlive(n) // no tail call
}

// TestLimitOfPrograms: a tool reads so many records of an event in a second, enables the event again in the next one, and measures how
// long it was disabled.
func TestLimitOfPrograms(t *testing.T) {
	const limit, seconds = 10, 3
	p := openSubject(t)
	t.Cleanup(func() { p.close(t) })
	programs := attach.NewPrograms(attach.ProgramsOptions{
		Options:      attach.Options{Patterns: []string{"ue_env"}, Limit: limit},
		WantsProcess: func(pid int32) bool { return int(pid) == os.Getpid() },
	})
	t.Cleanup(func() { require.NoError(t, programs.Close()) })
	testscale.Eventually(t, func() bool {
		require.NoError(t, programs.Find())
		return p.enabled()
	}, "not found")
	var src *attach.Source
	programs.Sources(func(s *attach.Source) { src = s })
	read, bySecond := 0, map[uint64]int{}
	poll := func() {
		programs.Poll()
		for r := (attach.Record{}); programs.Next(&r); {
			read++
			bySecond[r.Time/uint64(time.Second)]++
		}
	}
	now := func() time.Duration { return time.Duration(sys.Nanotime()) }
	var written, disabled int
	var least, most time.Duration
	for range seconds {
		poll()
		require.True(t, p.enabled())
		before := now() // enabled
		written += p.writeWhileEnabled(t) - 1
		disabled++
		began := now()
		ended := began
		testscale.Eventually(t, func() bool {
			ended = now()
			assert.True(t, programs.Limited() == 0 || programs.Limited() <= time.Second)
			poll()
			return p.enabled()
		}, "it stays disabled")
		least += ended - began
		most += now() - before
	}
	times, took := src.Limited()
	assert.EqualValues(t, disabled, times)
	assert.GreaterOrEqual(t, took, least)
	assert.LessOrEqual(t, took, most)
	assert.Equal(t, written, read)
	for _, n := range bySecond {
		assert.LessOrEqual(t, n, limit+1, "the second may end between the check and the record")
	}

	// The time ends with the session.
	p.writeWhileEnabled(t)
	testscale.Eventually(t, func() bool {
		poll()
		times, _ = src.Limited()
		return times > uint64(disabled)
	}, "the limit is not noticed")
	programs.Stop()
	_, took = src.Limited()
	poll()
	_, later := src.Limited()
	assert.Equal(t, took, later)
	assert.Zero(t, programs.Limited())
}

// TestNoLimit: without one, a session has no options that a program would look at for each record.
func TestNoLimit(t *testing.T) {
	p := openSubject(t)
	t.Cleanup(func() { p.close(t) })
	s := attached(t, attach.Options{})
	p.write(1, 12)
	require.Len(t, s.Read(), 1)
	program := p.f.(*file).p
	for i := range program.sessions {
		if o := program.sessions[i].opened.Load(); o != nil {
			assert.Nil(t, o.options)
		}
	}
}
