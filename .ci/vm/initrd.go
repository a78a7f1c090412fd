package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
)

// A guest that counts instructions boots from an archive that has this program, the settings and the test binary, at paths that
// are always the same: a read from the host takes a number of instructions that varies.
const (
	initrdInit     = "/vm"
	initrdSettings = "/job.json"
	initrdProgram  = "/tests/000"
)

// writeInitrd makes the archive for m and its settings.
func writeInitrd(m machine, s settings) error {
	program := s.Job.Args[0]
	s.Job.Args = append([]string{initrdProgram}, s.Job.Args[1:]...)
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	a := archive{has: map[string]bool{"/": true}}
	a.add("/tmp", modeDir|0o755, 0, nil)
	// What the kernel opens for process 1, before that mounts anything.
	a.add("/dev/console", modeCharDevice|0o600, 5<<8|1, nil)
	files := [][2]string{{initrdInit, m.init}, {initrdProgram, program}}
	for _, file := range m.files {
		files = append(files, [2]string{file, file})
	}
	for _, file := range files {
		content, err := os.ReadFile(file[1])
		if err != nil {
			return err
		}
		a.add(file[0], modeFile|0o755, 0, content)
	}
	a.add(s.Job.Dir, modeDir|0o755, 0, nil)
	a.add(initrdSettings, modeFile|0o644, 0, text)
	a.add("/TRAILER!!!", 0, 0, nil)
	return os.WriteFile(m.initrd(), a.Bytes(), 0o644)
}

// archive is a cpio archive in the "newc" format, which the kernel unpacks into its first root directory
// (Documentation/driver-api/early-userspace/buffer-format.rst).
type archive struct {
	bytes.Buffer
	has map[string]bool
}

// Types of files, stat(2).
const (
	modeDir        = 0o040000
	modeFile       = 0o100000
	modeCharDevice = 0o020000
)

// add adds a file of any type, and the directories above it. Device numbers are for devices, content is for regular files.
func (a *archive) add(name string, mode, device uint32, content []byte) {
	if dir := path.Dir(name); !a.has[dir] {
		a.add(dir, modeDir|0o755, 0, nil)
	}
	if a.has[name] {
		return
	}
	a.has[name] = true
	const links, root, time, checksum = 1, 0, 0, 0
	name = strings.TrimPrefix(name, "/")
	fmt.Fprintf(a, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		len(a.has), mode, root, root, links, time, len(content), 0, 0, device>>8, device&0xff, len(name)+1, checksum, name)
	a.pad()
	a.Write(content)
	a.pad()
}

// pad fills up to a multiple of four bytes.
func (a *archive) pad() { a.Write(make([]byte, -a.Len()&3)) }
