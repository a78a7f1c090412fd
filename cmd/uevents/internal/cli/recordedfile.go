package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// recordedFile is a file of a recording.
type recordedFile struct {
	*os.File
	created  fs.FileInfo
	closed   fs.FileInfo // as it was when it was closed; nil before, or if that is not known
	buffered *bufio.Writer
	sent     int64 // bytes written
	lines    bool  // each record is a line
	whole    int64 // bytes of whole lines
}

func (f *recordedFile) Write(b []byte) (n int, err error) {
	n, err = f.File.Write(b)
	if i := bytes.LastIndexByte(b[:n], '\n'); i >= 0 {
		f.whole = f.sent + int64(i+1)
	}
	if f.sent += int64(n); err != nil && f.lines && f.created.Mode().IsRegular() {
		_ = f.Truncate(f.whole) // the error of writing says more
	}
	return n, err
}

// there returns an error if the name of the file is no longer that of the file: the recording is lost when it is closed.
func (f *recordedFile) there() error {
	if !f.created.Mode().IsRegular() {
		return nil
	}
	if named, err := os.Stat(f.Name()); err != nil {
		return fmt.Errorf("the file was removed while it was written: %w", err)
	} else if !os.SameFile(f.created, named) {
		return fmt.Errorf("%s was replaced while it was written", f.Name())
	}
	return nil
}

// create creates a file of the recording that only its owner can read: logs contain secrets.
func (r *recording) create(path string) (*recordedFile, error) {
	open := createOutput
	if r.o.replace {
		open = func(path string) (*os.File, error) { return openOutput(r.ctx, path) }
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	created, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if created.Mode()&fs.ModeNamedPipe != 0 {
		r.pipe = f
	}
	file := &recordedFile{File: f, created: created, lines: r.format.lines}
	file.buffered = bufio.NewWriterSize(file, 256<<10)
	r.files = append(r.files, file)
	return file, nil
}

// createOutput creates a file that only its owner can read, and locks it.
func createOutput(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = lock(f)
	}
	return f, err
}

// openOutput creates a file in place of the one that is there, or opens a device or a pipe. Opening a pipe waits for a program that reads
// it, until ctx is done.
func openOutput(ctx context.Context, path string) (*os.File, error) {
	st, err := os.Lstat(path)
	switch {
	case err != nil:
		return createOutput(path)
	case inSystem(path):
		st, err = os.Stat(path)
	}
	if err != nil || st.Mode()&fs.ModeNamedPipe == 0 {
		return openExisting(path)
	}
	f, err := untilDone(ctx, func() (*os.File, error) { return openExisting(path) })
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%s: no program has opened the pipe to read it: %w", path, context.Cause(ctx))
	}
	return f, err
}

// inSystem reports whether a path is that of a device, or of a descriptor of a process, where links lead to standard output and to
// descriptors of the shell.
func inSystem(path string) bool {
	return strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/")
}

// openExisting opens a device, a pipe or a file. Another user may own a directory of the path: outside of the system's, its last name
// must be no link, and a pipe or a file must be this user's. A file is replaced by a new one: others may have opened it, and it may have
// another name.
func openExisting(path string) (f *os.File, err error) {
	flags := os.O_WRONLY
	if !inSystem(path) {
		flags |= noFollow
	}
	if f, err = os.OpenFile(path, flags, 0); err != nil {
		if st, other := os.Lstat(path); other == nil && st.Mode()&fs.ModeSymlink != 0 && !inSystem(path) {
			err = fmt.Errorf("%s is a link, which could lead to a file of another user: give the name of that file", path)
		}
		return nil, err
	}
	st, err := f.Stat()
	switch {
	case err != nil:
	case inSystem(path):
		if st.Mode().IsRegular() {
			err = f.Truncate(0)
		}
	case st.Mode()&fs.ModeDevice == 0 && !ownFile(st):
		err = fmt.Errorf("%s: the file belongs to another user: %w", path, fs.ErrExist)
	case st.Mode().IsRegular():
		if err = lock(f); err == nil { // no other recording writes it
			err = os.Remove(path)
		}
		if err == nil {
			_ = f.Close()
			return createOutput(path)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
