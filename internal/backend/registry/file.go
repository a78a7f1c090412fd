package registry

import (
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
)

// File is an open user_events_data of a registry, without the words and the writing of [backend.Backend].
type File[S any] struct {
	r *Registry[S]
	// events are those registered through the file, by write index; nil when the file is closed. Writers read it
	// without a lock; a registration replaces the slice.
	events atomic.Pointer[[]*Event[S]]
}

// Open returns a file without events.
func (r *Registry[S]) Open() *File[S] {
	f := &File[S]{r: r}
	f.events.Store(new([]*Event[S]))
	return f
}

// Register finds or makes the event of a request, and lets the request's bit follow it.
func (f *File[S]) Register(req backend.Request) (*Event[S], uint32, error) {
	f.r.Lock()
	defer f.r.Unlock()
	if f.Lost() {
		return nil, 0, errno.EBADF
	}
	if f.r.refuse != nil {
		return nil, 0, f.r.refuse
	}
	if req.Flags != 0 || req.Bit >= backend.WordBits { // as Linux 6.4 to 6.6, which know no flag
		return nil, 0, errno.EINVAL
	}
	bit := Bit{req.Word, req.Bit}
	if f.r.byBit[bit] != nil {
		return nil, 0, errno.EADDRINUSE
	}
	e, index, err := f.reference(req.Command)
	if err != nil || f.r.keeps {
		return e, index, err
	}
	if req.Word == nil {
		// An address that the kernel can't write to. The file holds the event all the same.
		return nil, 0, errno.ENOMEM
	}
	f.r.byBit[bit] = e
	e.bits = append(e.bits, bit)
	f.r.owner.Add(e, bit)
	return e, index, nil
}

// reference finds or makes the event of a command and gives it a write index of this file.
func (f *File[S]) reference(command string) (*Event[S], uint32, error) {
	e, err := f.r.findOrCreate(command)
	if err != nil {
		return nil, 0, err
	}
	events := *f.events.Load()
	if i := slices.Index(events, e); i >= 0 {
		return e, uint32(i), nil
	}
	events = append(slices.Clip(events), e)
	f.events.Store(&events)
	e.files++
	return e, uint32(len(events) - 1), nil
}

// Unregister lets a bit follow no event, and clears it.
func (f *File[S]) Unregister(word *atomic.Uintptr, bit uint8) error {
	f.r.Lock()
	defer f.r.Unlock()
	if f.Lost() {
		return errno.EBADF
	}
	if f.r.keeps {
		return nil
	}
	b := Bit{word, bit}
	e := f.r.byBit[b]
	if e == nil {
		return errno.ENOENT
	}
	delete(f.r.byBit, b)
	e.bits = slices.DeleteFunc(e.bits, func(o Bit) bool { return o == b })
	f.r.owner.Remove(e, b)
	f.r.Release(e)
	return nil
}

// Delete removes an event that nothing holds.
func (f *File[S]) Delete(name string) error {
	f.r.Lock()
	defer f.r.Unlock()
	e := f.r.byName[name]
	if e == nil {
		return errno.ENOENT
	}
	if f.r.busy(e) {
		return errno.EBUSY
	}
	f.r.destroy(e)
	return nil
}

// Fields returns the fields of an event.
func (f *File[S]) Fields(name string) (fields string, known bool) {
	f.r.Lock()
	defer f.r.Unlock()
	if e := f.r.byName[name]; e != nil {
		return e.Decl.FieldList(), true
	}
	return "", false
}

// AwaitRemoval returns false: events are removed at once.
func (f *File[S]) AwaitRemoval() bool { return false }

// Lost reports whether the file is closed.
func (f *File[S]) Lost() bool { return f.events.Load() == nil }

// Close releases the file's events. A second Close fails with EBADF.
func (f *File[S]) Close() error {
	f.r.Lock()
	defer f.r.Unlock()
	events := f.events.Swap(nil)
	if events == nil {
		return errno.EBADF
	}
	for _, e := range *events {
		e.files--
		f.r.Release(e)
	}
	return nil
}

// IndexSize is the number of bytes before the payload of what a program writes: a write index in host byte order.
const IndexSize = 4

// At returns the event of what a program writes, and nil if [File.Refused] has a reason. It is small enough to be inlined. The
// caller asks next whether the event is enabled, and then for [Event.Valid].
func (f *File[S]) At(buf []byte) *Event[S] {
	if events := f.events.Load(); events != nil && len(buf) >= IndexSize {
		if index := binary.NativeEndian.Uint32(buf); uint64(index) < uint64(len(*events)) {
			if e := (*events)[index]; len(buf)-IndexSize >= e.fixed {
				return e
			}
		}
	}
	return nil
}

// Refused returns the error for what At finds no event for. It answers in the kernel's order: the index first, then the size.
func (f *File[S]) Refused(buf []byte) error {
	events := f.events.Load()
	if events == nil {
		return errno.EBADF
	}
	if len(buf) < IndexSize {
		return errno.EFAULT
	}
	index := int32(binary.NativeEndian.Uint32(buf))
	if index >= 0 && int(index) >= len(*events) {
		return errno.ENOENT
	}
	return errno.EINVAL // a negative index, or a payload that is shorter than the fixed fields
}
