//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/sys"
)

// files are the two files of a program, mapped.
type files struct {
	dataFD, controlFD int
	data              *layout.Data
	control           *layout.Control
}

// possible returns why the files cannot be made.
func possible() error {
	if err := fits(); err != nil {
		return err
	}
	fd, err := sys.CreateMemory("userevents-probe", 0)
	if err != nil {
		return err
	}
	return sys.Close(fd)
}

// fits compares the size with RLIMIT_FSIZE: the kernel sends a signal to who makes a file larger.
func fits() error {
	limit, err := sys.FileSizeLimit()
	if err == nil && limit < uint64(layout.FileSize) {
		err = fmt.Errorf("RLIMIT_FSIZE is %d bytes; the memory has %d, of which it uses few: %w", limit, layout.FileSize, syscall.EFBIG)
	}
	return err
}

// create makes the files. The control file is mapped where the one before it was, if *at is not nil.
func create(at **layout.Control) (_ *files, err error) {
	f := &files{dataFD: -1, controlFD: -1}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	if err = fits(); err != nil {
		return nil, err
	}
	if f.dataFD, err = sys.CreateMemory(layout.DataName, layout.FileSize); err != nil {
		return nil, err
	}
	if f.controlFD, err = sys.CreateMemory(layout.ControlName, layout.ControlSize); err != nil {
		return nil, err
	}
	p, err := sys.MapShared(f.dataFD, nil, layout.FileSize)
	if err != nil {
		return nil, fmt.Errorf("%d bytes of address space, which RLIMIT_AS may limit: %w", layout.FileSize, err)
	}
	f.data = (*layout.Data)(p)
	if err := sys.DontDump(unsafe.Add(p, layout.DataSize), layout.FileSize-layout.DataSize); err != nil {
		return nil, err
	}
	if p, err = sys.MapShared(f.controlFD, unsafe.Pointer(*at), layout.ControlSize); err != nil {
		return nil, err
	}
	f.control = (*layout.Control)(p)
	*at = f.control
	if err := errors.Join(sys.SealMemory(f.dataFD, true), sys.SealMemory(f.controlFD, false)); err != nil {
		return nil, err
	}
	f.control.Magic, f.control.Version = [8]byte([]byte(layout.Magic)), layout.Version
	f.data.Magic, f.data.Version = f.control.Magic, layout.Version
	s, err := sys.SealsOf(f.controlFD)
	if err != nil {
		return nil, err
	}
	f.data.Control = s.Inode
	f.data.Processors = uint32(runtime.GOMAXPROCS(0))
	return f, nil
}

// close gives everything back but the address of the control file, where zeros stay: a check of an enable word may have read its
// address just before the word was freed.
func (f *files) close() (err error) {
	if f.control != nil {
		err = sys.MapZeros(unsafe.Pointer(f.control), layout.ControlSize)
	}
	if f.data != nil {
		err = errors.Join(err, sys.Unmap(unsafe.Pointer(f.data), layout.FileSize))
	}
	for _, fd := range []int{f.dataFD, f.controlFD} {
		if fd >= 0 {
			err = errors.Join(err, sys.Close(fd))
		}
	}
	return err
}

// rings returns the heads and rings of a session.
func (f *files) rings(session int) (*[layout.Rings]layout.Head, []byte) {
	area := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(f.data), layout.RingsOffset(session))), layout.SessionSize)
	return layout.HeadsAt(area), area[layout.RingsStart:]
}

// word returns an enable word as the program's checks read it.
func (f *files) word(i int) *atomic.Uintptr {
	return (*atomic.Uintptr)(unsafe.Pointer(&f.control.Words[i]))
}

// indexOf undoes word. It reports false for words that are not of the files.
func (f *files) indexOf(w *atomic.Uintptr) (int, bool) {
	i := (uintptr(unsafe.Pointer(w)) - uintptr(unsafe.Pointer(&f.control.Words))) / unsafe.Sizeof(f.control.Words[0])
	return int(i), i < layout.Words
}

// populated reports whether the tool of a session has brought so many bytes of its rings into memory, which it pays for then.
func (f *files) populated(session, size int) bool {
	return sys.Populated(f.dataFD, layout.RingsOffset(session)+layout.RingsStart, size)
}
