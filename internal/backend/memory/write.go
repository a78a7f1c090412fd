//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"math/bits"

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
	sessions := e.State.wishes.Load() & layout.AllSessions
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
		f.p.recordAgain(e.State.id, again, payload)
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
func (p *program) recordAgain(id, sessions uint32, payload []byte) {
	for range 3 {
		var ready uint32
		for ; sessions != 0; sessions &= sessions - 1 {
			i := bits.TrailingZeros32(sessions)
			if p.enter(i, id) == nil {
				p.checkTool(i)
				continue
			}
			ready |= 1 << i
		}
		if sessions = p.recordAll(id, ready, payload); sessions == 0 {
			return
		}
	}
}
