//go:build (linux || darwin || dragonfly || freebsd || netbsd || openbsd) && !386 && !arm && !mips && !mipsle

package memory

import (
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/memory/ring"
	"github.com/userevents/userevents-go/internal/sys"
)

// session is one of the places for tools.
type session struct {
	opened  atomic.Pointer[opened] // nil while no tool has it, and while it changes hands
	checked atomic.Int64           // when the program last asked whether the tool is alive

	// The lock of the program's events guards what follows.
	noticed uint64  // the generation that the program has seen last
	bank    uint32  // of its losses
	before  *opened // the one that was opened last
}

type opened struct {
	*ring.Writer
	generation uint64
	asked      *atomic.Uint64 // the generation of the tool that has the session now; another one for recordWith
	losses     *layout.Losses
	bank       uint32
	options    *options // nil if record and recordAll write to the session
}

// options are what makes a record take longer.
type options struct {
	callers int
	limit   uint32                       // 0 is none
	written [layout.Events]atomic.Uint64 // second << 32 | records in it
}

func (s *session) reset() {
	s.opened.Store(nil)
	s.checked.Store(0)
	s.noticed, s.bank, s.before = 0, 0, nil
}

// unpopulated is how much memory of rings may be missing when a session opens. The program pays for it.
const unpopulated = 1 << 20

// enter opens session i for the tool that has it now. It returns nil if it cannot yet, or not at all; then a record of
// the event is lost.
func (p *program) enter(i int, id uint32) *opened {
	s, asked, shown := &p.sessions[i], &p.files.control.Sessions[i], &p.files.data.Sessions[i]
	if o := s.opened.Load(); o != nil && o.generation == asked.Generation.Load() {
		return o
	}
	p.events.Lock()
	defer p.events.Unlock()
	generation := asked.Generation.Load()
	o := s.opened.Load()
	if o != nil && o.generation == generation {
		return o
	}
	if o != nil {
		s.opened.Store(nil)
		o.End()
	}
	if generation != s.noticed {
		// Calls that the session before has not seen the end of count in its own bank.
		if s.before != nil {
			s.bank = 1 - s.before.bank
		}
		clear(p.files.data.Lost[i][s.bank][:p.count])
		shown.Bank.Store(s.bank)
		shown.Refused.Store(0)
		shown.Noticed.Store(generation)
		s.noticed = generation
	}
	losses := &p.files.data.Lost[i][s.bank]
	// A tool that was refused asks again with another generation: looking for its rings takes long.
	if shown.Refused.Load() != 0 || s.before != nil && !s.before.Quiet() {
		losses[id].Add(1)
		return nil
	}
	size, rings := asked.RingSize.Load(), asked.Rings.Load()
	if refused := p.files.refuse(i, size, rings); refused != 0 {
		shown.Refused.Store(uint32(refused))
		losses[id].Add(1)
		return nil
	}
	heads, data := p.files.rings(i)
	shown.Key = newKey()
	o = &opened{ring.NewWriter(heads, &asked.Tails, data, size, int(rings), shown.Key), generation, &asked.Generation, losses, s.bank, nil}
	if limit, callers := asked.Limit.Load(), asked.Callers.Load(); limit != 0 || callers != 0 || p.files.named() {
		o.options = &options{callers: int(min(callers, layout.Callers)), limit: limit}
		o.asked = new(atomic.Uint64)
		o.asked.Store(generation + 1)
	}
	s.before = o
	shown.Opened.Store(generation)
	s.opened.Store(o)
	return o
}

// refuse returns an errno if the program does not write to such rings of a session.
func (f *files) refuse(session int, size uint64, rings uint32) syscall.Errno {
	if bits.OnesCount64(size) != 1 || bits.OnesCount32(rings) != 1 || size < layout.MinRing || size > layout.MaxRing ||
		rings > layout.Rings || size*uint64(rings) > layout.MaxRing {
		return errno.EINVAL
	}
	if all := size * uint64(rings); all > unpopulated && !f.populated(session, int(all)) {
		return errno.ENOMEM
	}
	return 0
}

// newKey returns a number that neither fresh memory nor a text can have by chance. It is no secret, and crypto/rand ends a program whose
// sandbox refuses getrandom.
func newKey() uint64 { return rand.Uint64() | 1<<62 }

// checkTool asks at most once a second whether the tool of a session is alive and has not expired, and else ends the session. It is
// called when records found no room, or no open session.
func (p *program) checkTool(i int) {
	s := &p.sessions[i]
	now, last := sys.Nanotime(), s.checked.Load()
	if now-last < int64(time.Second) || !s.checked.CompareAndSwap(last, now) {
		return
	}
	p.events.Lock()
	defer p.events.Unlock()
	// A tool holds a lock of this byte. The program holds it while it cleans up, so that no other tool begins meanwhile.
	control := p.files.control
	generation := control.Sessions[i].Generation.Load()
	if sys.LockByte(p.files.controlFD, i) {
		defer func() { _ = sys.UnlockByte(p.files.controlFD, i) }()
	} else if expires := control.Sessions[i].Expires.Load(); expires == 0 || uint64(now) < expires {
		return
	}
	p.withdraw(&control.Claimed, i, generation)
	for id := range p.count {
		p.withdraw(&control.Requests[id], i, generation)
	}
	for _, e := range p.events.Events() {
		p.refresh(e)
	}
}

// withdraw takes the bit of a session away, but not one that the session's next tool has set: what follows its generation.
func (p *program) withdraw(w *atomic.Uint32, i int, generation uint64) {
	now := &p.files.control.Sessions[i].Generation
	if now.Load() == generation && w.And(^uint32(1<<i))&(1<<i) != 0 && now.Load() != generation {
		w.Or(1 << i) // at worst, the tool gets records that it has not asked for
	}
}
