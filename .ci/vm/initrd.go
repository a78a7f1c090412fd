package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// A guest that counts instructions boots from an archive that has this program, the settings and the test binary, at paths that
// are always the same: a read from the host takes a number of instructions that varies.
const (
	initrdInit    = "/vm"
	initrdJob     = "/job.json"
	initrdProgram = "/tests/000"
)

// writeInitrd makes the archive for m and its settings.
func writeInitrd(m machine, s settings) error {
	f, err := os.Create(m.initrd)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	a := archive{w: bufio.NewWriter(f), dirs: map[string]bool{"/": true}}
	a.mkdirAll("/tmp")
	// What the kernel opens for process 1, before that mounts anything.
	a.entry("/dev/console", modeCharDevice|0o600, 5<<8|1, nil)
	j := *s.Job
	files := map[string]string{initrdInit: m.init, initrdProgram: j.Args[0]}
	for _, name := range []string{initrdInit, initrdProgram} {
		if err := a.copy(name, files[name], 0o755); err != nil {
			return err
		}
	}
	a.mkdirAll(j.Dir)
	for _, name := range m.with {
		if err := a.copyProgram(m, name); err != nil {
			return err
		}
	}
	j.Args = append([]string{initrdProgram}, j.Args[1:]...)
	s.Job = &j
	if err := writeSettings(m.jobFile, s); err != nil {
		return err
	}
	if err := a.copy(initrdJob, m.jobFile, 0o644); err != nil {
		return err
	}
	a.header("TRAILER!!!", 0, 0, 0, 0)
	return a.w.Flush()
}

// archive writes a cpio archive in the "newc" format, which the kernel unpacks into its first
// root directory (Documentation/driver-api/early-userspace/buffer-format.rst). The writer
// keeps its first error.
type archive struct {
	w    *bufio.Writer
	dirs map[string]bool // those it has
	last uint32          // inode number
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
	a.entry(dir, modeDir|0o755, 0, nil)
}

// library is a file in the output of ldd(1).
var library = regexp.MustCompile(`(?m)^\s.*?(/\S+) \(0x`)

// copyProgram adds a program of the host, and the libraries that it is linked with.
func (a *archive) copyProgram(m machine, name string) error {
	file := ""
	for _, dir := range programDirs(m) {
		if file == "" {
			file, _ = exec.LookPath(filepath.Join(dir, name)) // the last error would be as good as any
		}
	}
	if file == "" {
		return fmt.Errorf("no program %s (make deps installs it)", name)
	}
	list, err := exec.Command("ldd", file).Output()
	if err != nil {
		return fmt.Errorf("ldd %s: %w", file, err)
	}
	files := []string{file}
	for _, m := range library.FindAllSubmatch(list, -1) {
		files = append(files, string(m[1]))
	}
	for _, file := range files {
		if err := a.copy(file, file, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// copy adds a file of the host.
func (a *archive) copy(name, from string, mode uint32) error {
	content, err := os.ReadFile(from)
	if err == nil {
		a.entry(name, modeFile|mode, 0, content)
	}
	return err
}

// entry adds a file of any type: device numbers are for devices, content for regular files.
func (a *archive) entry(name string, mode, device uint32, content []byte) {
	a.mkdirAll(path.Dir(name))
	a.last++
	a.header(strings.TrimPrefix(name, "/"), a.last, mode, device, len(content))
	_, _ = a.w.Write(content)
	a.pad(len(content))
}

// header writes what stands before the content.
func (a *archive) header(name string, inode, mode, device uint32, size int) {
	const links, root, time, checksum = 1, 0, 0, 0
	n, _ := fmt.Fprintf(a.w, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		inode, mode, root, root, links, time, size, 0, 0, device>>8, device&0xff, len(name)+1, checksum, name)
	a.pad(n)
}

// pad fills up to a multiple of four bytes.
func (a *archive) pad(n int) { _, _ = a.w.Write(make([]byte, -n&3)) }
