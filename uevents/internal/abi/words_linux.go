package abi

import (
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/userevents/userevents-go/internal/sys"
)

// words hands out the enable words of the process. The kernel holds their addresses, so
// they live outside Go's heap, in pages that are never unmapped: a word can be read at any
// time, also after its event is gone.
var words struct {
	mu   sync.Mutex
	free []*atomic.Uint32
}

// NewWord returns a zero word for the exclusive use of the caller.
func NewWord() (*atomic.Uint32, error) {
	words.mu.Lock()
	defer words.mu.Unlock()
	if len(words.free) == 0 {
		page, err := sys.MapAnonymous(os.Getpagesize())
		if err != nil {
			return nil, err
		}
		for off := len(page) - wordSize; off >= 0; off -= wordSize {
			words.free = append(words.free, wordAt(page, off))
		}
	}
	last := len(words.free) - 1
	w := words.free[last]
	words.free = words.free[:last]
	return w, nil
}

// FreeWord gives a word back. The caller vouches that the kernel has forgotten its address.
func FreeWord(w *atomic.Uint32) {
	words.mu.Lock()
	defer words.mu.Unlock()
	w.Store(0)
	words.free = append(words.free, w)
}

// wordAt returns the aligned word at a multiple of 4 in a page.
func wordAt(page []byte, off int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&page[off : off+wordSize][0]))
}
