//go:build (linux || darwin || dragonfly || freebsd || netbsd || openbsd) && !386 && !arm && !mips && !mipsle

package memory

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/sys"
)

func directory() (string, error) {
	if sys.Secure() {
		return "", errors.New("the environment of a caller with fewer privileges names no directory")
	}
	dir := os.Getenv("XDG_RUNTIME_DIR") // in memory, and of this user alone
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "userevents-"+strconv.Itoa(os.Geteuid()))
	} else {
		dir = filepath.Join(dir, "userevents")
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	own, err := sys.OwnDirectory(dir)
	if err == nil && !own {
		err = fmt.Errorf("%s is not a directory that only this user can write to: %w", dir, os.ErrPermission)
	}
	return dir, err
}

// openIn makes the files under names that no other has. A lock of the data file lasts as long as the program does.
func (f *files) openIn(dir string) error {
	removeDead(dir)
	for {
		suffix := fmt.Sprintf("-%d-%x", os.Getpid(), newKey())
		path := filepath.Join(dir, layout.DataName+suffix)
		fd, err := sys.CreateFile(path, layout.FileSize)
		if err != nil {
			return err
		}
		f.dataFD, f.paths = fd, []string{path}
		// A program that looks for dead ones may be faster.
		if alive, err := sys.LockNew(fd); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		} else if !alive {
			f.dataFD, f.paths = -1, nil
			if err := sys.Close(fd); err != nil {
				return err
			}
			continue
		}
		path = filepath.Join(dir, layout.ControlName+suffix)
		if f.controlFD, err = sys.CreateFile(path, 0); err != nil {
			return err
		}
		f.paths = append(f.paths, path)
		// The enable words have their place on the disk: a check that reads one must not fault.
		return errors.Join(sys.Fill(f.controlFD, layout.ControlSize), sys.Fill(f.dataFD, int(unsafe.Offsetof(f.data.Registry))))
	}
}

func removeDead(dir string) {
	d, err := sys.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		suffix, ok := strings.CutPrefix(name, layout.DataName+"-")
		if !ok {
			continue
		}
		path := filepath.Join(dir, name)
		fd, err := sys.LockDead(path)
		if err != nil {
			continue // a living program's, or another user's
		}
		_ = os.Remove(filepath.Join(dir, layout.ControlName+"-"+suffix))
		_ = os.Remove(path) // last: without it, nothing finds the other
		_ = sys.Close(fd)
	}
}

// lost returns the error for a fault in the files: others can cut them off, and their disk can be full.
func (f *files) lost(cause sys.Fault) error {
	in := func(at unsafe.Pointer, size int) bool { return cause.Addr()-uintptr(at) < uintptr(size) }
	if f == nil || !in(unsafe.Pointer(f.data), layout.FileSize) && !in(unsafe.Pointer(f.control), layout.ControlSize) {
		panic(cause)
	}
	return fmt.Errorf("%s: %w: the file was cut off, or its disk is full", f.paths[0], errno.EFAULT)
}

// guard calls a function that uses the files, with the lock of events held. A fault costs the events, and not the program.
func (p *program) guard(call func()) {
	if !p.files.named() {
		call()
	} else if cause := sys.Try(call); cause != nil {
		p.abandon(cause)
	}
}

// abandon puts zeros of this program alone where the files were mapped: no tool wants anything there.
func (p *program) abandon(cause sys.Fault) {
	f := p.files
	p.lost = errors.Join(f.lost(cause),
		sys.MapZeros(unsafe.Pointer(f.control), layout.ControlSize), sys.MapZeros(unsafe.Pointer(f.data), layout.FileSize))
}

// careful is a file whose writing can fault.
type careful struct{ *file }

func (c careful) Write(buf []byte) (err error) {
	cause := sys.Try(func() { err = c.file.Write(buf) })
	if cause == nil {
		return err
	}
	c.p.events.Lock()
	defer c.p.events.Unlock()
	c.p.abandon(cause)
	return c.p.lost
}
