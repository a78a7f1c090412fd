package words

import (
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/userevents/userevents-go/internal/sys"
)

// Size is the size of a word in bytes: the machine's native width, which the kernel accepts
// on machines of 32 and of 64 bits.
const Size = int(unsafe.Sizeof(uintptr(0)))

// pool holds the words. The kernel has their addresses, so they are outside of Go's heap, in
// pages that are never unmapped: a word can be read at any time, also after its event is
// closed.
var pool struct {
	mu    sync.Mutex
	free  []*atomic.Uintptr // the next one to hand out first
	pages int
	inUse int
}

// New returns a zero word for the exclusive use of the caller, who returns it by [Free]. It
// is the word that was freed the longest time ago: the kernel may take a moment to free a
// bit whose page it has to bring back, and refuses a registration of the same bit until then.
func New() (*atomic.Uintptr, error) {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if len(pool.free) == 0 {
		page, err := sys.MapAnonymous(os.Getpagesize())
		if err != nil {
			return nil, err
		}
		pool.pages++
		for off := 0; off < len(page); off += Size {
			pool.free = append(pool.free, At(page, off))
		}
	}
	w := pool.free[0]
	pool.free = pool.free[1:]
	pool.inUse++
	return w, nil
}

// Free returns a word to the pool. The kernel must have no registration of its bits.
func Free(w *atomic.Uintptr) {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	w.Store(0)
	pool.free = append(pool.free, w)
	pool.inUse--
}

// Usage returns the number of words that were not freed, and of the pages that hold all words.
func Usage() (inUse, pages int) {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	return pool.inUse, pool.pages
}

// At returns the word at an offset in a page, a multiple of [Size].
func At(page []byte, off int) *atomic.Uintptr {
	return (*atomic.Uintptr)(unsafe.Pointer(&page[off : off+Size][0]))
}
