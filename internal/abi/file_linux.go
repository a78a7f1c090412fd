package abi

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/internal/words"
)

// File is an open user_events_data. It implements [backend.Backend].
type File struct {
	fd     int
	path   string // "" when the descriptor was handed in and its path is hidden
	abi    backend.ABI
	status *statusPage // of the status generations
	closed atomic.Bool
}

// Open opens the data file at path.
func Open(path string) (*File, error) {
	fd, err := sys.OpenWriteOnly(path)
	if err != nil {
		return nil, err
	}
	return newFile(fd, path)
}

// FromFile duplicates a descriptor that another program opened for writing. The caller keeps
// its own.
func FromFile(f *os.File) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	var dupErr error
	if err := raw.Control(func(n uintptr) { fd, dupErr = sys.Dup(int(n)) }); err != nil {
		return nil, err
	}
	if dupErr != nil {
		return nil, dupErr
	}
	// A write to it would fail with EBADF, which also says that the event is disabled.
	writable, err := sys.Writable(fd)
	if err == nil && !writable {
		err = errNotWritable
	}
	if err != nil {
		return nil, errors.Join(err, sys.Close(fd))
	}
	return newFile(fd, pathOf(fd, info))
}

var errNotWritable = errors.New("the descriptor is not open for writing")

// pathOf returns the path of an open file, or "" if it has none here: the file may come from
// another mount namespace, where its path means something else.
func pathOf(fd int, open os.FileInfo) string {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil || !filepath.IsAbs(path) {
		return ""
	}
	there, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return path // may not be looked at, but says something to people
	}
	if !os.SameFile(open, there) {
		return ""
	}
	return path
}

func newFile(fd int, path string) (*File, error) {
	f := &File{fd: fd, path: path}
	if err := f.detect(); err != nil {
		return nil, errors.Join(err, sys.Close(fd))
	}
	return f, nil
}

// detect asks the file itself every time, which also tells whether it is a user_events_data at
// all. What takes reading and mapping, telling bytes from bits, is remembered.
func (f *File) detect() error {
	enable, err := hasEnableAddress(f.fd)
	if err != nil {
		return fmt.Errorf("asking %s for its interface: %w", f.name(), err)
	}
	if enable {
		f.abi = backend.EnableAddress
		return nil
	}
	if f.status, err = openStatus(f.path); err != nil {
		return err
	}
	f.abi = f.status.abi
	return nil
}

func (f *File) name() string {
	if f.path == "" {
		return "descriptor " + strconv.Itoa(f.fd)
	}
	return f.path
}

// ABI returns the kernel's generation.
func (f *File) ABI() backend.ABI { return f.abi }

// NewWord returns a zero word of the process's pool.
func (f *File) NewWord() (*atomic.Uintptr, error) { return words.New() }

// FreeWord returns a word to the pool. None of its bits may still be registered.
func (f *File) FreeWord(w *atomic.Uintptr) { words.Free(w) }

// Register registers an event.
func (f *File) Register(r backend.Request) (_ backend.Registration, err error) {
	if f.abi == backend.EnableAddress {
		var index uint32
		onOneThread(func() { index, err = register(f.fd, r) })
		return backend.Registration{Index: index, Word: r.Word, Mask: 1 << r.Bit}, err
	}
	if r.Flags != 0 {
		return backend.Registration{}, errno.EINVAL // as later kernels answer to flags they do not know
	}
	index, status, err := registerOld(f.fd, r.Command)
	if err != nil {
		return backend.Registration{}, err
	}
	word, mask, err := f.status.locate(status)
	return backend.Registration{Index: index, Word: word, Mask: mask}, err
}

// Unregister makes the kernel forget an enable bit and clears it.
func (f *File) Unregister(word *atomic.Uintptr, bit uint8) (err error) {
	if f.abi == backend.EnableAddress {
		onOneThread(func() { err = unregister(f.fd, word, bit) })
	}
	return err
}

// AwaitRemoval waits for 5 ms of the kernel's time, also in a bubble of testing/synctest. Kernels before 6.4 remove no event.
func (f *File) AwaitRemoval() bool {
	if f.abi != backend.EnableAddress {
		return false
	}
	sys.Sleep(5 * time.Millisecond)
	return true
}

// Delete deletes an event. An event cannot be deleted through a descriptor that it was
// registered with, so this opens another.
func (f *File) Delete(name string) error {
	if f.path == "" {
		return errors.New("the descriptor was handed in and its path is not known: deleting takes a second one")
	}
	fd, err := sys.OpenWriteOnly(f.path)
	if err != nil {
		return err
	}
	return errors.Join(deleteEvent(fd, name), sys.Close(fd))
}

// Fields returns the fields that the kernel has for an event, if this program may read
// them.
func (f *File) Fields(name string) (string, bool) {
	if f.path == "" {
		return "", false
	}
	decls, err := tracefs.At(filepath.Dir(f.path)).Declarations()
	if err != nil {
		return "", false
	}
	for _, d := range decls {
		if d.Name == name {
			return d.FieldList(), true
		}
	}
	return "", false
}

// Write writes one event. It must not run during or after Close.
func (f *File) Write(buf []byte) error { return sys.Write(f.fd, buf) }

// Lost reports whether the descriptor was closed by other code, or has the number of another file that is not open for writing.
func (f *File) Lost() bool {
	writable, err := sys.Writable(f.fd)
	return err != nil || !writable
}

// Close closes the descriptor, whose number the process may then use for another file. A
// second Close fails with EBADF and closes nothing.
func (f *File) Close() error {
	if f.closed.Swap(true) {
		return errno.EBADF
	}
	return sys.Close(f.fd)
}

// Path returns the path of the data file, "" if it is not known.
func (f *File) Path() string { return f.path }

// registrar is the one thread that registers and unregisters. The kernel ties an enable bit
// to the thread that registered it: on any other thread UNREG fails with ENOENT, and when
// the thread exits the bit never changes again.
var registrar struct {
	starting sync.Mutex
	work     chan func() // nil until it has started
}

// onOneThread runs registrations. The tests of this package, which show what the kernel does to threads, run them on their own.
var onOneThread = onRegistrar

// onRegistrar runs f on the registrar's thread and returns when it is done. A mutex tells so: a channel would
// belong to the caller's bubble of testing/synctest, and closing it from outside ends the program.
func onRegistrar(f func()) {
	registrar.starting.Lock()
	if registrar.work == nil {
		outsideBubbles(startRegistrar)
	}
	registrar.starting.Unlock()
	var done sync.Mutex
	done.Lock()
	registrar.work <- func() {
		defer done.Unlock()
		f()
	}
	done.Lock()
}

func startRegistrar() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread() // never unlocked: the thread lives as long as the program
		for f := range work {
			f()
		}
	}()
	registrar.work = work
}

// outsideBubbles calls f where it may start a goroutine that outlives a bubble of testing/synctest. Cleanups
// run outside of all bubbles.
func outsideBubbles(f func()) {
	if !inBubble() {
		f()
		return
	}
	var done sync.Mutex
	done.Lock()
	runtime.AddCleanup(new([64]byte), func(f func()) {
		defer done.Unlock()
		f()
	}, f)
	for !done.TryLock() {
		runtime.GC()
	}
}

// inBubble reports whether the goroutine is in a bubble, which nothing but a stack trace tells.
func inBubble() bool {
	var header [256]byte // "goroutine 7 [running, locked to thread, synctest bubble 5]:", longer with GOTRACEBACK=system
	return bytes.Contains(header[:runtime.Stack(header[:], false)], []byte("synctest bubble"))
}
