//go:build (linux || darwin || dragonfly || freebsd || netbsd || openbsd) && !386 && !arm && !mips && !mipsle

// Package memory is the transport for programs that the kernel refuses: events in shared memory, which tools find and open through
// /proc/PID/fd, so that the kernel's rule for reading another process decides which may. A program has no path, no listener and
// no goroutine for it. Package layout says what is where.
//
// Systems that have no such memory get files of the user in a directory, and so do programs that ask for one.
//
// docs/wire-formats.md describes the memory and the tool's side. This is the program's side, with the names used there.
//
// To register an event, a program writes declaration, entry, count; clears the enable bit; writes the gate; then it sets the request for the
// patterns of the claimed sessions, and the enable bit if any request is set. It writes a record to each session of the request.
//
// It opens a session when the generation differs from that of the session opened last and that one has no writers: done, to which each writer
// adds the bytes of its record after the mark, equals position, and no call is about to count a loss. First come an empty bank, other than
// that of the session before, and noticed; then a new random key, new positions greater than all before, start and the tails; opened is last.
//
// After every 16th record of an event that finds no room, and each that finds a session that cannot be opened, but at most once a second, the
// program tries to lock byte i. If it can, or if the expiry has passed, the tool has ended: the program clears its bits, then unlocks. Until
// its rings are full, the events of a killed tool stay enabled. Where the program holds no lock, after an expiry or beyond a limit, another
// tool may have got the session meanwhile: if the generation has changed, it sets a bit again that it has cleared. So a tool can get records
// of events that it has not asked for. If an enable bit is set and the request is 0, the program clears the bit, looks at the request again, and
// sets the bit if the request is set. One thread at a time does this.
package memory

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/backend/registry"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/memory/layout"
)

type event = registry.Event[state]

// state is the number of an event in the memory, and the bits of the sessions that want the event.
type state struct {
	id       uint32
	requests *atomic.Uint32
}

// program is the memory of a process, and all that is registered in it.
type program struct {
	events *registry.Registry[state]

	// The lock of events guards what follows.
	files   *files // nil while nothing needs them
	users   int    // open files that registered or asked for words, and words in use
	lost    error  // why nothing comes of the files any more
	ids     map[string]uint32
	count   uint32 // of entries. What tools see of it may not be what was written
	text    uint32 // bytes of all commands
	free    []*atomic.Uintptr
	words   int // how many were ever handed out
	address *layout.Control

	sessions [layout.Sessions]session
}

var process = sync.OnceValue(newProgram)

func newProgram() *program {
	p := &program{}
	p.events = registry.New[state](p, false)
	return p
}

// acquire makes the files, if they are not there.
func (p *program) acquire(dir string) error {
	if p.files == nil {
		f, err := create(dir, &p.address)
		if err != nil {
			return fmt.Errorf("shared memory: %w", err)
		}
		p.files, p.lost, p.ids, p.count, p.text, p.free, p.words = f, nil, map[string]uint32{}, 0, 0, nil, 0
		meetTool()
	} else if dir == "" && p.files.named() {
		return fmt.Errorf("shared memory: this process has it in a directory already: %w", errno.EBUSY)
	}
	p.users++
	return nil
}

// release undoes acquire. The last call closes the files: no call of Write is left then.
func (p *program) release() error {
	if p.users--; p.users > 0 {
		return nil
	}
	f := p.files
	p.files = nil
	for i := range p.sessions {
		p.sessions[i].reset()
	}
	return f.close()
}

// newWord returns an enable word. It is the one that was freed the longest time ago.
func (p *program) newWord(dir string) (*atomic.Uintptr, error) {
	if len(p.free) == 0 && p.words == layout.Words {
		return nil, fmt.Errorf("shared memory has %d enable words: %w", layout.Words, errno.ENOMEM)
	}
	if err := p.acquire(dir); err != nil {
		return nil, err
	}
	if len(p.free) == 0 {
		p.words++
		p.guard(func() { p.files.data.InUse.Store(uint32(p.words)) })
		return p.files.word(p.words - 1), nil
	}
	w := p.free[0]
	p.free = p.free[1:]
	return w, nil
}

// The methods below make p the owner of its registry.

// Create gives an event its number, which is that of an earlier one if name and fields are the same.
func (p *program) Create(e *event) error {
	command := e.Decl.String()
	id, known := p.ids[command]
	if !known {
		var err error
		if id, err = p.add(command); err != nil {
			return err
		}
		p.ids[command] = id
	}
	e.State = state{id, &p.files.control.Requests[id]}
	p.guard(func() { p.files.data.Registry[id].Held.Store(1) })
	return nil
}

func (p *program) add(command string) (uint32, error) {
	id := p.count
	if id == layout.Events || int(p.text)+len(command) > layout.Text {
		return 0, fmt.Errorf("shared memory has room for %d events and %d bytes of their declarations, also of those that were closed: %w",
			layout.Events, layout.Text, errno.EMFILE)
	}
	data, entry := p.files.data, &p.files.data.Registry[id]
	p.guard(func() {
		entry.Offset, entry.Length = p.text, uint32(copy(data.Text[p.text:], command))
		data.Count.Store(id + 1)
	})
	p.count++
	p.text += uint32(len(command))
	return id, nil
}

// Destroy lets tools see that the event is gone. Its entry stays, for the records in the rings.
func (p *program) Destroy(e *event) {
	p.guard(func() { p.files.data.Registry[e.State.id].Held.Store(0) })
}

// Attached returns false: records come from this process alone, so that tools need not hold its events.
func (p *program) Attached(*event) bool { return false }

// Add shows a bit to the tools, and then looks at what they want: a tool that did not see the bit has asked before.
func (p *program) Add(e *event, b registry.Bit) { p.guard(func() { p.show(e, b) }) }

func (p *program) show(e *event, b registry.Bit) {
	id := e.State.id
	word, _ := p.files.indexOf(b.Word)
	b.Set(false) // before tools see the bit: later they may have set it
	p.files.data.Gates[word][b.Bit].Store(id + 1)
	control := p.files.control
	for i := range control.Sessions {
		if control.Claimed.Load()&(1<<i) != 0 && control.Sessions[i].Matches(e.Decl.Name) {
			e.State.requests.Or(1 << i)
		}
	}
	if e.State.requests.Load()&layout.AllSessions != 0 {
		b.Set(true)
	}
}

func (p *program) Remove(_ *event, b registry.Bit) {
	word, _ := p.files.indexOf(b.Word)
	p.guard(func() {
		p.files.data.Gates[word][b.Bit].Store(0)
		b.Set(false)
	})
}

// disable clears the bits of an event that no session wants. It waits for no lock: the next record tries again.
func (p *program) disable(e *event) {
	if !p.events.TryLock() {
		return
	}
	defer p.events.Unlock()
	p.refresh(e)
}

// refresh is called with the lock held.
func (p *program) refresh(e *event) {
	for _, b := range e.Bits() {
		if e.State.requests.Load()&layout.AllSessions == 0 {
			b.Set(false)
			if e.State.requests.Load()&layout.AllSessions != 0 { // a tool has asked meanwhile
				b.Set(true)
			}
		}
	}
}

// file is an open user_events_data.
type file struct {
	*registry.File[state]
	p     *program
	dir   string // "" if the memory needs none
	holds bool   // is one of p.users; guarded by the lock of p.events
}

// Open returns a file of this process. It makes no memory yet, and fails if it could not. The memory consists of files in a
// directory if one is given, or if the system has no other.
func Open(dir string) (backend.Backend, error) {
	dir, err := possible(dir)
	if err != nil {
		return nil, err
	}
	return process().open(dir), nil
}

func (p *program) open(dir string) backend.Backend {
	f := &file{File: p.events.Open(), p: p, dir: dir}
	if dir != "" {
		return careful{f}
	}
	return f
}

func (f *file) ABI() backend.ABI { return backend.EnableAddress }

// Dir returns the directory of the memory's files, and "" if it needs none.
func (f *file) Dir() string { return f.dir }

// NewWord returns a word of the memory, which stays readable.
func (f *file) NewWord() (*atomic.Uintptr, error) {
	f.p.events.Lock()
	defer f.p.events.Unlock()
	return f.p.newWord(f.dir)
}

func (f *file) FreeWord(w *atomic.Uintptr) {
	f.p.events.Lock()
	defer f.p.events.Unlock()
	f.p.guard(func() { w.Store(0) })
	f.p.free = append(f.p.free, w)
	_ = f.p.release()
}

func (f *file) Register(r backend.Request) (backend.Registration, error) {
	if err := f.hold(r.Word); err != nil {
		return backend.Registration{}, err
	}
	_, index, err := f.File.Register(r)
	if err == nil {
		if err = f.lost(); err != nil {
			_ = f.Unregister(r.Word, r.Bit)
		}
	}
	return backend.Registration{Index: index, Word: r.Word, Mask: 1 << r.Bit}, err
}

// lost returns why nothing can come of an event that was registered.
func (f *file) lost() error {
	f.p.events.Lock()
	defer f.p.events.Unlock()
	return f.p.lost
}

// hold keeps the memory until Close. It refuses words of others.
func (f *file) hold(word *atomic.Uintptr) error {
	f.p.events.Lock()
	defer f.p.events.Unlock()
	if !f.holds && !f.Lost() {
		if err := f.p.acquire(f.dir); err != nil {
			return err
		}
		f.holds = true
	}
	if word != nil && f.p.files != nil {
		if _, own := f.p.files.indexOf(word); !own {
			return errno.EFAULT
		}
	}
	return nil
}

// Close gives the memory up, if no other file and no word needs it.
func (f *file) Close() error {
	if err := f.File.Close(); err != nil {
		return err
	}
	f.p.events.Lock()
	defer f.p.events.Unlock()
	if !f.holds {
		return nil
	}
	return f.p.release()
}
