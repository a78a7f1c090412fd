package ueventstest

import (
	"math/bits"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/backend/registry"
	"github.com/userevents/userevents-go/internal/errno"
)

// file is one open user_events_data.
type file struct {
	*registry.File[state]
	k *Kernel
}

func init() {
	backend.OpenSimulated = func(kernel any) backend.Backend { return kernel.(*Kernel).open() }
}

func (k *Kernel) open() backend.Backend {
	k.events.Lock()
	defer k.events.Unlock()
	k.files++
	return &file{k.events.Open(), k}
}

func (f *file) ABI() backend.ABI { return f.k.abi }

// NewWord returns a word that Kernel.Close expects to be freed.
func (f *file) NewWord() (*atomic.Uintptr, error) {
	f.k.events.Lock()
	defer f.k.events.Unlock()
	word := new(atomic.Uintptr)
	f.k.allocated[word] = struct{}{}
	return word, nil
}

// FreeWord takes note of a word that a real kernel would still write to.
func (f *file) FreeWord(word *atomic.Uintptr) {
	f.k.events.Lock()
	defer f.k.events.Unlock()
	delete(f.k.allocated, word)
	for b, e := range f.k.events.Followed() {
		if b.Word == word {
			f.k.freedInUse = append(f.k.freedInUse, e.Decl.Name)
		}
	}
}

func (f *file) Register(r backend.Request) (backend.Registration, error) {
	e, index, err := f.File.Register(r)
	if err != nil {
		return backend.Registration{}, err
	}
	if f.k.page != nil {
		word, mask := f.k.page.at(e.State.slot)
		return backend.Registration{Index: index, Word: word, Mask: mask}, nil
	}
	return backend.Registration{Index: index, Word: r.Word, Mask: 1 << r.Bit}, nil
}

func (f *file) Close() error {
	if err := f.File.Close(); err != nil {
		return err
	}
	f.k.events.Lock()
	defer f.k.events.Unlock()
	f.k.files--
	return nil
}

// perfMaxPayload is what fits perf's scratch buffer of 8 KiB. A larger write succeeds, and perf does not record it.
const perfMaxPayload = 8184

// Write looks at the content only for a tool that has room, as the kernel does.
func (f *file) Write(buf []byte) error {
	e := f.At(buf)
	if e == nil {
		return f.Refused(buf)
	}
	probes := e.State.probes.Load()
	if probes == nil {
		return errno.EBADF
	}
	return f.k.record(e, *probes, buf[registry.IndexSize:])
}

func (k *Kernel) record(e *event, probes []probe, payload []byte) error {
	// The kernel looks at the content once for each tool, with the same result.
	valid := e.Valid(payload) && (k.page == nil || len(payload) > 0)
	k.recording.Lock()
	defer k.recording.Unlock()
	var s stamp
	for _, p := range probes {
		switch {
		case p.tool.detached:
		case len(payload) > p.tool.kind.maxPayload():
			p.tool.oversized++
		case !valid:
			return errno.EFAULT
		default:
			if s.seq == 0 {
				s = k.stamp()
			}
			p.tool.keep(s, p.slot, payload)
		}
	}
	return nil
}

// pageSize is the size in bytes of the status page. It does not follow the machine's, so
// that a test behaves alike everywhere.
const pageSize = 4096

// statusPage is the page that kernels before 6.4 let programs map. A real one consists of
// bytes. Here it consists of the words that programs read.
type statusPage struct {
	words [pageSize * 8 / backend.WordBits]atomic.Uintptr
	// used has a bit for every index in use. Index 0 is never given out.
	used  []uint64
	width int // how many bits an event has: 1 or 8
}

func newStatusPage(abi backend.ABI) *statusPage {
	p := &statusPage{width: 1}
	if abi == backend.StatusByte {
		p.width = 8
	}
	p.used = make([]uint64, pageSize*8/p.width/64)
	p.used[0] = 1
	return p
}

// max is the number that user_events_status prints: indexes, the unused one included.
func (p *statusPage) max() int { return len(p.used) * 64 }

// take returns the lowest free index, unless the page is full.
func (p *statusPage) take() (index uint32, full bool) {
	for i, w := range p.used {
		if w != ^uint64(0) {
			bit := bits.TrailingZeros64(^w)
			p.used[i] |= 1 << bit
			return uint32(i*64 + bit), false
		}
	}
	return 0, true
}

func (p *statusPage) free(index uint32) { p.used[index/64] &^= 1 << (index % 64) }

// at returns what a program that registered an event with this index looks at.
func (p *statusPage) at(index uint32) (*atomic.Uintptr, uintptr) {
	bit := int(index) * p.width
	return &p.words[bit/backend.WordBits], (1<<p.width - 1) << (bit % backend.WordBits)
}

// set stores an event's status.
func (p *statusPage) set(index, status uint32) {
	word, mask := p.at(index)
	on := mask // any status sets a bit, and a byte is the status
	if p.width > 1 || status == 0 {
		on = uintptr(status) << bits.TrailingZeros(uint(mask))
	}
	// Never clear a bit that stays set, not even for a moment.
	word.Or(on)
	word.And(^mask | on)
}
