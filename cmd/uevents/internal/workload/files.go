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
	r, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return r, err
}

// entries lists the first entries of a directory.
func entries(r *os.Root) ([]fs.DirEntry, error) {
	d, err := r.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := d.ReadDir(maxEntries)
	if errors.Is(err, io.EOF) {
		return nil, nil // it is empty
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
