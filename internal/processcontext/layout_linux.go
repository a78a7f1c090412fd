package processcontext

import (
	"structs"
	"sync/atomic"
	"unsafe"
)

// layout is the header as others read it while it changes. The fields that change are atomic, and Go keeps the order of atomic stores.
type layout struct {
	_           structs.HostLayout
	signature   [8]byte
	version     uint32
	payloadSize atomic.Uint32
	publishedAt atomic.Uint64
	payload     atomic.Uint64
}

// The build fails if the compiler makes another layout.
var _ = [1]struct{}{}[unsafe.Sizeof(layout{})-headerSize]

func layoutAt(mapping []byte) *layout { return (*layout)(unsafe.Pointer(unsafe.SliceData(mapping))) }

func address(mapping []byte) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mapping))))
}

// set replaces the payload, whose bytes are there. Each store is visible to others before the next one.
func (l *layout) set(payload []byte, now uint64) {
	before := l.publishedAt.Load()
	l.publishedAt.Store(0)
	l.payload.Store(address(payload))
	l.payloadSize.Store(uint32(len(payload)))
	l.publishedAt.Store(max(now, before+1))
}
