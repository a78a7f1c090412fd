package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// A guest whose root directory cannot be the host's boots from an archive that has this program,
// the job and the test binary, at paths that are always the same: where it counts instructions,
// since a read from the host takes a number of them that varies, and where its processor
// cannot run the host's programs.
const (
	initrdInit    = "/vm"
	initrdJob     = "/job.json"
	initrdProgram = "/tests/000"
)

// writeInitrd makes the archive for m and the job. A guest that does not count also gets the
// files of the package's directory and its testdata.
func writeInitrd(m machine, j job) error {
	f, err := os.Create(m.initrd)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	a := archive{w: bufio.NewWriter(f), dirs: map[string]bool{"/": true}}
	a.mkdirAll("/tmp")
	// What the kernel opens for process 1, before that mounts anything.
	a.entry("/dev/console", modeCharDevice|0o600, 5<<8|1, nil)
	files := map[string]string{initrdInit: m.init, initrdProgram: j.Args[0]}
	for _, name := range []string{initrdInit, initrdProgram} {
		if err := a.copy(name, files[name], 0o755); err != nil {
			return err
		}
	}
	a.mkdirAll(j.Dir)
	for _, name := range m.with {
		if err := a.copyProgram(name); err != nil {
			return err
		}
	}
	if !j.Counting {
		if err := a.copyPackage(j.Dir); err != nil {
			return err
		}
	}
	j.Args = append([]string{initrdProgram}, j.Args[1:]...)
	if err := writeJob(m.jobFile, j); err != nil {
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

// copyPackage adds the files of a package's directory, and its testdata with all below.
func (a *archive) copyPackage(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(name, dir)
		switch {
		case err != nil:
			return err
		case d.IsDir() && rel != "" && rel != "/testdata" && !strings.HasPrefix(rel, "/testdata/"):
			return fs.SkipDir
		case d.IsDir():
			a.mkdirAll(name)
		case d.Type().IsRegular():
			return a.copy(name, name, 0o644)
		}
		return nil
	})
}

// library is a file in the output of ldd(1).
var library = regexp.MustCompile(`(?m)^\s.*?(/\S+) \(0x`)

// copyProgram adds a program of the host, and the libraries that it is linked with.
func (a *archive) copyProgram(name string) error {
	file := ""
	for _, dir := range programDirs() {
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
