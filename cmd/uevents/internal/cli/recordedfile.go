package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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
	if err != nil {
		return nil, err
	}
	if err := lockNamed(f, path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openOutput creates a file in place of the one that is there, or opens a device or a pipe. Opening a pipe waits for a program that reads
// it, until ctx is done.
func openOutput(ctx context.Context, path string) (*os.File, error) {
	open := func() (*os.File, error) { return openExisting(path) }
	if st, err := os.Stat(path); err == nil && st.Mode()&fs.ModeNamedPipe != 0 {
		f, err := untilDone(ctx, open)
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("%s: no program has opened the pipe to read it: %w", path, context.Cause(ctx))
		}
		return f, err
	}
	f, err := open()
	if errors.Is(err, fs.ErrNotExist) {
		return createOutput(path)
	}
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || isDescriptor(path) {
		return f, err
	}
	if os.Remove(path) == nil {
		next, err := createOutput(path)
		return next, errors.Join(err, f.Close()) // the lock of the old file keeps others from replacing it meanwhile
	}
	// The directory is not this user's, or the file is mounted.
	if st.Mode().Perm()&0o077 != 0 || linked(st) {
		err = fmt.Errorf("%s: others may have opened the file, and it cannot be replaced: %w", path, fs.ErrExist)
	} else {
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// removeOutput removes a file that openOutput would replace, if there is one.
func removeOutput(path string) error {
	f, err := openExisting(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(os.Remove(path), f.Close())
}

// openExisting opens a device, a pipe, or a file, which it locks. Another user may own a directory of the path: its last name must be no
// link, and a pipe or a file must be this user's.
func openExisting(path string) (*os.File, error) {
	if isDescriptor(path) { // the shell chose what it leads to, and where in a file the output begins
		return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	}
	allowed := func(st fs.FileInfo) error {
		switch {
		case st.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a link, which could lead to a file of another user: give the name of that file", path)
		case st.Mode()&fs.ModeDevice == 0 && !ownFile(st):
			return fmt.Errorf("%s: the file belongs to another user: %w", path, fs.ErrExist)
		}
		return nil
	}
	st, err := os.Lstat(path) // before a pipe waits
	if err == nil {
		err = allowed(st)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|noFollow, 0)
	if err != nil {
		return nil, err
	}
	if st, err = f.Stat(); err == nil {
		err = allowed(st)
	}
	if err == nil && st.Mode().IsRegular() {
		err = lockNamed(f, path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

var descriptorPath = regexp.MustCompile(`^(/dev/(stdin|stdout|stderr|fd/\d+)|/proc/(self|thread-self|\d+)/fd/\d+)$`)

// isDescriptor reports whether a path names a descriptor of a process, which is a link to what it leads to.
func isDescriptor(path string) bool { return descriptorPath.MatchString(filepath.Clean(path)) }

// lockNamed locks a file for this process, if no other one has locked it, or has put another file at its path.
func lockNamed(f *os.File, path string) error {
	if err := lock(f); err != nil {
		return err
	}
	st, err := f.Stat()
	named, nameErr := os.Lstat(path)
	if err := errors.Join(err, nameErr); err != nil {
		return err
	}
	if !os.SameFile(st, named) {
		return fmt.Errorf("%s: another program is writing it: %w", path, fs.ErrExist)
	}
	return nil
}
