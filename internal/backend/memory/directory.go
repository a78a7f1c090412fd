//go:build (linux || darwin || dragonfly || freebsd || netbsd || openbsd) && !386 && !arm && !mips && !mipsle

package memory

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/sys"
)

// directory makes the directory of this user's programs.
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
			return err
		} else if !alive {
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

// removeDead removes the files of programs that were killed.
func removeDead(dir string) {
	list, _ := filepath.Glob(filepath.Join(dir, layout.DataName+"-*"))
	for _, path := range list {
		fd, err := sys.LockDead(path)
		if err != nil {
			continue // a living program's, or another user's
		}
		_ = os.Remove(filepath.Join(dir, layout.ControlName+strings.TrimPrefix(filepath.Base(path), layout.DataName)))
		_ = os.Remove(path)
		_ = sys.Close(fd)
	}
}

// careful is a file whose memory others can cut off, or whose disk can be full. That costs the events.
type careful struct{ *file }

func (c careful) try(call func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		fault, ok := cause.(interface{ Addr() uintptr })
		if !ok || c.p.files == nil || !c.p.files.has(fault.Addr()) {
			panic(cause)
		}
		err = errors.Join(fmt.Errorf("%s: %w: the file was cut off, or its disk is full", c.p.files.paths[0], errno.EFAULT), c.p.files.abandon())
	}()
	return call()
}

func (c careful) NewWord() (word *atomic.Uintptr, err error) {
	err = c.try(func() error {
		word, err = c.file.NewWord()
		return err
	})
	return word, err
}

func (c careful) Register(r backend.Request) (reg backend.Registration, err error) {
	err = c.try(func() error {
		reg, err = c.file.Register(r)
		return err
	})
	return reg, err
}

func (c careful) Unregister(word *atomic.Uintptr, bit uint8) error {
	return c.try(func() error { return c.file.Unregister(word, bit) })
}

func (c careful) FreeWord(word *atomic.Uintptr) {
	_ = c.try(func() error {
		c.file.FreeWord(word)
		return nil
	})
}

func (c careful) Delete(name string) error { return c.try(func() error { return c.file.Delete(name) }) }

func (c careful) Write(buf []byte) error { return c.try(func() error { return c.file.Write(buf) }) }

func (c careful) Close() error { return c.try(c.file.Close) }
