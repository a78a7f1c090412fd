package workload

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

const (
	maxEntries = 10_000   // of a directory: more than the containers that a machine runs
	maxFile    = 16 << 20 // in bytes: the list of as many containers
)

// open opens the directory of a runtime. Links in it cannot lead out of it. It is nil if there is none.
func open(dir string) (*os.Root, error) {
	st, err := os.Stat(dir)
	if err == nil && !st.IsDir() { // OpenRoot would wait for the writer of a pipe
		return nil, &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	var r *os.Root
	if err == nil {
		r, err = os.OpenRoot(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return r, err
}

// entries lists the first entries of a directory, and notes if there are more.
func (s *Snapshot) entries(r *os.Root) ([]fs.DirEntry, error) {
	d, err := r.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := d.ReadDir(maxEntries + 1)
	if errors.Is(err, io.EOF) {
		return nil, nil // it is empty
	}
	if len(list) > maxEntries {
		s.failed(fmt.Errorf("only the first %d entries of %s", maxEntries, r.Name()))
		list = list[:maxEntries]
	}
	return list, err
}

// read reads a regular file.
func read(r *os.Root, name string) ([]byte, error) {
	f, err := r.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe has no writer to wait for
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", f.Name())
	}
	return limited(f, f.Name())
}

// limited reads what has a limit of size.
func limited(r io.Reader, name string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", name, maxFile)
	}
	return b, err
}
