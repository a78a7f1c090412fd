//go:build (linux || darwin || dragonfly || freebsd || netbsd || openbsd) && !386 && !arm && !mips && !mipsle

package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/sys"
)

type files struct {
	dataFD, controlFD int
	data              *layout.Data
	control           *layout.Control
	paths             []string // if they have names
}

// named reports whether others can change the files' size, so that reading and writing can fault.
func (f *files) named() bool { return f.paths != nil }

// possible returns why the files cannot be made, and the directory for them if they need one.
func possible(asked string) (dir string, err error) {
	if err := fits(); err != nil {
		return "", err
	}
	if asked != "" {
		return writable(asked)
	}
	fd, err := sys.CreateMemory("userevents-probe", 0, 0)
	if err == nil {
		return "", sys.Close(fd)
	}
	if !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) {
		return "", err
	}
	dir, other := directory() // seccomp, or a system without such files
	if other != nil {
		err = fmt.Errorf("%w; files instead: %w", err, other)
		return "", err
	}
	return dir, nil
}

// writable returns the path of a directory that this program can make files in, also after it has gone to another one.
func writable(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = sys.MayCreate(dir)
	}
	return dir, err
}

// fits compares the size with RLIMIT_FSIZE: the kernel sends a signal to who makes a file larger.
func fits() error {
	limit, err := sys.FileSizeLimit()
	if err == nil && limit < uint64(layout.FileSize) {
		err = fmt.Errorf("RLIMIT_FSIZE is %d bytes; the memory has %d, of which it uses few: %w", limit, layout.FileSize, syscall.EFBIG)
	}
	return err
}

// create makes the files, in a directory if one is given. The control file is mapped where the one before it was, if *at is not nil.
func create(dir string, at **layout.Control) (_ *files, err error) {
	f := &files{dataFD: -1, controlFD: -1}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	if err = fits(); err != nil {
		return nil, err
	}
	if err := f.open(dir); err != nil {
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
	sealed, err := f.seal()
	if err != nil {
		return nil, err
	}
	inode, err := sys.InodeOf(f.controlFD)
	if err != nil {
		return nil, err
	}
	if cause := sys.Try(func() { f.describe(inode, sealed) }); cause != nil {
		return nil, f.lost(cause)
	}
	if !f.named() {
		// Tools find the program in /proc/locks. One that is here before can lock the file, and keep others from finding it.
		if _, err := sys.LockNew(f.dataFD); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// describe writes what tools look at first.
func (f *files) describe(control uint64, sealed bool) {
	f.control.Magic, f.control.Version = [8]byte([]byte(layout.Magic)), layout.Version
	f.data.Magic, f.data.Version = f.control.Magic, layout.Version
	f.data.Control = control
	if !sealed {
		f.data.Unsealed = 1
	}
	f.data.Processors = uint32(runtime.GOMAXPROCS(0))
}

// open makes the files, empty.
func (f *files) open(dir string) (err error) {
	if dir != "" {
		return f.openIn(dir)
	}
	if f.dataFD, err = sys.CreateMemory(layout.DataName, layout.FileSize, 0o444); err != nil {
		return err
	}
	f.controlFD, err = sys.CreateMemory(layout.ControlName, layout.ControlSize, 0o666)
	return err
}

// seal fixes the sizes, and lets no other program write to the data. It reports false where the kernel does not ensure that:
// gVisor accepts the seal all the same.
func (f *files) seal() (bool, error) {
	if f.named() {
		return false, nil
	}
	err := errors.Join(sys.SealMemory(f.dataFD, true), sys.SealMemory(f.controlFD, false))
	if err != nil {
		return false, err
	}
	b, err := sys.MapWritable(f.dataFD, layout.DataSize)
	if err != nil {
		return true, nil
	}
	return false, sys.UnmapBytes(b)
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
	for _, path := range slices.Backward(f.paths) { // the data last: without it, nothing finds the other
		if e := os.Remove(path); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	for _, fd := range []int{f.dataFD, f.controlFD} {
		if fd >= 0 {
			err = errors.Join(err, sys.Close(fd))
		}
	}
	return err
}

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
