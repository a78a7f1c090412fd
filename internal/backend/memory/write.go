//go:build (linux || darwin || dragonfly || freebsd || netbsd || openbsd) && !386 && !arm && !mips && !mipsle

package memory

import (
	"math/bits"
	"runtime"
	"time"

	"github.com/userevents/userevents-go/internal/backend/registry"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/memory/ring"
	"github.com/userevents/userevents-go/internal/sys"
)

// Write writes a record into the rings of all tools that want the event. A record that finds no room is counted there, and is no
// error, as with the kernel.
func (f *file) Write(buf []byte) error {
	e := f.At(buf)
	if e == nil {
		return f.Refused(buf)
	}
	payload := buf[registry.IndexSize:]
	sessions := e.State.requests.Load() & layout.AllSessions
	if sessions == 0 {
		f.p.disable(e)
		return errno.EBADF
	}
	if !e.Valid(payload) {
		return errno.EFAULT
	}
	var again uint32
	if sessions&(sessions-1) == 0 {
		again = f.p.record(e.State.id, uint(bits.TrailingZeros32(sessions)), payload)
	} else {
		again = f.p.recordAll(e.State.id, sessions, payload)
	}
	if again != 0 {
		f.p.recordAgain(e, again, payload)
	}
	return nil
}

// record writes a record to one session. It returns the session's bit if that has to be opened first.
func (p *program) record(id uint32, i uint, payload []byte) (again uint32) {
	processor := sys.PinProcessor()
	o := p.sessions[i%layout.Sessions].opened.Load()
	if o == nil || o.generation != o.asked.Load() {
		sys.UnpinProcessor()
		return 1 << i
	}
	room, answer := o.Reserve(processor, ring.Size(len(payload)))
	if answer == ring.Reserved {
		room.Commit(id, uint64(sys.Nanotime()), payload) // the clock behind the room; see ring.Writer.Reserve
		sys.UnpinProcessor()
		return 0
	}
	sys.UnpinProcessor()
	ended, check := o.lose(id, answer)
	if check {
		p.checkTool(int(i))
	}
	if ended {
		return 1 << i
	}
	return 0
}

// lose counts a record that found no room, unless the session has ended. It also tells whether to call checkTool, which may wait.
func (o *opened) lose(id uint32, answer ring.Answer) (ended, check bool) {
	if answer == ring.Ended {
		return true, false
	}
	n := o.Lose(&o.losses[id])
	return n == 0, n > 0 && n%16 == 0 // reading the clock takes longer than the rest
}

// recordAll is record for several sessions. The clock is read once, when the record has its room everywhere.
func (p *program) recordAll(id, sessions uint32, payload []byte) (again uint32) {
	var rooms [layout.Sessions]ring.Room
	var full uint32
	n, need := 0, ring.Size(len(payload))
	processor := sys.PinProcessor()
	for ; sessions != 0; sessions &= sessions - 1 {
		i := uint(bits.TrailingZeros32(sessions)) % layout.Sessions
		o := p.sessions[i].opened.Load()
		if o == nil || o.generation != o.asked.Load() {
			again |= 1 << i
			continue
		}
		room, answer := o.Reserve(processor, need)
		if answer == ring.Reserved {
			rooms[n] = room
			n++
		} else if ended, check := o.lose(id, answer); ended {
			again |= 1 << i
		} else if check {
			full |= 1 << i
		}
	}
	if n > 0 {
		now := uint64(sys.Nanotime())
		for i := range rooms[:n] {
			rooms[i].Commit(id, now, payload)
		}
	}
	sys.UnpinProcessor()
	for ; full != 0; full &= full - 1 {
		p.checkTool(bits.TrailingZeros32(full))
	}
	return again
}

// recordAgain opens sessions and writes a record to them. A record is lost if tools take the session from each other all the time.
func (p *program) recordAgain(e *event, sessions uint32, payload []byte) {
	for range 3 {
		var ready, again uint32
		for ; sessions != 0; sessions &= sessions - 1 {
			i := bits.TrailingZeros32(sessions)
			switch o := p.enter(i, e.State.id); {
			case o == nil:
				p.checkTool(i)
			case o.options == nil:
				ready |= 1 << i
			case p.recordWith(o, e, i, payload):
				again |= 1 << i
			}
		}
		if sessions = again | p.recordAll(e.State.id, ready, payload); sessions == 0 {
			return
		}
	}
}

// recordWith writes a record to a session with options. It reports whether the session has ended.
func (p *program) recordWith(o *opened, e *event, i int, payload []byte) (ended bool) {
	id := e.State.id
	if !o.options.allows(id) {
		p.withdraw(e.State.requests, i, o.generation) // the tool asks again in the next second
		p.disable(e)
		return false
	}
	own := 4                   // functions that are of no interest, from runtime.Callers to Write
	pinned := !p.files.named() // else a fault is caught, which needs a goroutine that can be stopped
	if !pinned {
		own += 3 // those of careful.Write
	}
	var callers [layout.Callers]uintptr
	n := runtime.Callers(own, callers[:o.options.callers])
	processor := sys.PinProcessor()
	if !pinned {
		sys.UnpinProcessor()
	}
	room, answer := o.Reserve(processor, ring.Size(8*n+len(payload)))
	if answer == ring.Reserved {
		room.CommitCallers(id, uint64(sys.Nanotime()), callers[:n], payload)
	}
	if pinned {
		sys.UnpinProcessor()
	}
	if answer == ring.Reserved {
		return false
	}
	ended, check := o.lose(id, answer)
	if check {
		p.checkTool(i)
	}
	return ended
}

// allows counts a record of an event, and reports whether it is within the limit.
func (o *options) allows(id uint32) bool {
	second := uint64(sys.Nanotime()/int64(time.Second)) << 32
	counter := &o.written[id]
	for o.limit != 0 {
		before := counter.Load()
		n := max(before, second) + 1
		if uint32(n) > o.limit {
			return false
		}
		if counter.CompareAndSwap(before, n) {
			break
		}
	}
	return true
}
