package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// A guest that counts instructions reads nothing from the host while it runs, since nobody
// knows how many of its instructions a read takes: it boots from an archive that has this
// program, the job and the test binaries, each at a path that is always the same.
const (
	initrdInit = "/vm"
	initrdJob  = "/job.json"
)

// initrdBinary is the path of a test binary in the archive.
func initrdBinary(turn int) string { return fmt.Sprintf("/tests/%03d", turn) }

// writeInitrd makes the archive for m and the job.
func writeInitrd(m machine, j job) error {
	f, err := os.Create(m.initrd)
	if err != nil {
		return fmt.Errorf("write the guest's files: %w", err)
	}
	defer func() { _ = f.Close() }()
	a := archive{w: bufio.NewWriter(f), dirs: map[string]bool{"/": true}}
	a.mkdirAll("/tmp")
	// What the kernel opens for process 1, before that mounts anything.
	a.entry("/dev/console", modeCharDevice|0o600, 0, [2]uint32{5, 1}, nil)
	a.copy(initrdInit, m.init)
	inside := make([]testPackage, len(j.Packages))
	for i, p := range j.Packages {
		a.copy(initrdBinary(i), p.Binary)
		a.mkdirAll(p.Dir)
		p.Binary = initrdBinary(i)
		inside[i] = p
	}
	j.Packages = inside
	data, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("write the job: %w", err)
	}
	a.entry(initrdJob, modeFile|0o644, len(data), [2]uint32{}, bytes.NewReader(data))
	if err := a.end(); err != nil {
		return fmt.Errorf("write the guest's files: %w", err)
	}
	return nil
}

// archive writes a cpio archive in the "newc" format, which the kernel unpacks into its first
// root directory (Documentation/driver-api/early-userspace/buffer-format.rst).
type archive struct {
	w    *bufio.Writer
	dirs map[string]bool // those it has
	last uint32          // inode number
	err  error           // the first one
}

// Types of files, stat(2).
const (
	modeDir        = 0o040000
	modeFile       = 0o100000
	modeCharDevice = 0o020000
)

// mkdirAll adds a directory and those above it.
func (a *archive) mkdirAll(dir string) {
	if a.dirs[dir] {
		return
	}
	a.dirs[dir] = true
	a.entry(dir, modeDir|0o755, 0, [2]uint32{}, nil)
}

// copy adds a program of the host.
func (a *archive) copy(name, from string) {
	f, err := os.Open(from)
	if err != nil {
		a.fail(err)
		return
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		a.fail(err)
		return
	}
	a.entry(name, modeFile|0o755, int(info.Size()), [2]uint32{}, f)
}

// entry adds a file of any type: device numbers are for devices, size bytes of content for
// regular files.
func (a *archive) entry(name string, mode uint32, size int, device [2]uint32, content io.Reader) {
	a.mkdirAll(path.Dir(name))
	a.last++
	a.header(strings.TrimPrefix(name, "/"), a.last, mode, size, device)
	if content == nil || a.err != nil {
		return
	}
	if _, err := io.CopyN(a.w, content, int64(size)); err != nil {
		a.fail(fmt.Errorf("copy %s: %w", name, err))
	}
	a.pad(size)
}

// header writes what stands before the content.
func (a *archive) header(name string, inode, mode uint32, size int, device [2]uint32) {
	const links, root, time, checksum = 1, 0, 0, 0
	n, err := fmt.Fprintf(a.w, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		inode, mode, root, root, links, time, size, 0, 0, device[0], device[1], len(name)+1, checksum, name)
	if err != nil {
		a.fail(err)
	}
	a.pad(n)
}

// pad fills up to a multiple of four bytes.
func (a *archive) pad(n int) {
	if _, err := a.w.Write(make([]byte, -n&3)); err != nil {
		a.fail(err)
	}
}

func (a *archive) end() error {
	a.header("TRAILER!!!", 0, 0, 0, [2]uint32{})
	if err := a.w.Flush(); err != nil {
		a.fail(err)
	}
	return a.err
}

func (a *archive) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}
