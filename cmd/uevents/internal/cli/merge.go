package cli

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/jsonlines"
	"github.com/userevents/userevents-go/cmd/uevents/internal/perfdata"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader"
)

// merged reads the records of files in order of time, as far as each file is. A regular file is opened for its first record, and again
// when it is the file's turn: of a long recording in many files, about one is open at a time.
type merged struct {
	open     func(path string) (recordedInput, error)
	lost     func(name string, n uint64, at time.Time) error // see jsonlines.Reader
	unwanted func(at time.Time) bool
	wall     bool // the time of day is necessary
	files    fileHeap
	one      bool  // errors are of the only file: its name is not in them
	errs     error // of files that were not read to their end

	missing missingParts
}

// mergedFile is a file of merged.
type mergedFile struct {
	path   string
	number int
	in     recordedInput // empty while it is closed
	time   time.Time     // of the next record, or of one that is not later
	ev     reader.Event
	ready  bool // the next record is in ev
}

// openMerged opens files. If the time of day is necessary, files without it are an error.
func (e *env) openMerged(ctx context.Context, paths []string, table *symbols.Table, wall bool) (*merged, error) {
	m := &merged{one: len(paths) == 1, wall: wall}
	m.open = func(path string) (recordedInput, error) { return e.openRecorded(ctx, path, table) }
	first := func(path string) (time.Time, error) {
		in, err := e.openRecorded(ctx, path, nil)
		if err != nil {
			return time.Time{}, err
		}
		defer in.Close()
		return m.firstTime(in, path)
	}
	for i, path := range paths {
		f := &mergedFile{path: path, number: i}
		var err error
		switch st, statErr := os.Stat(path); {
		case path == "-" && m.has("-"):
			err = usageError{errors.New("- is standard input, which can be read once")}
		case m.one || path == "-" || statErr != nil || !st.Mode().IsRegular():
			f.in, err = m.open(path)
		case st.Size() == 0: // a recording was killed before it wrote the beginning of its next file
			continue
		default:
			f.time, err = first(path)
		}
		if err != nil {
			m.Close()
			return nil, err
		}
		m.files = append(m.files, f)
	}
	heap.Init(&m.files)
	return m, nil
}

func (m *merged) has(path string) bool {
	for _, f := range m.files {
		if f.path == path {
			return true
		}
	}
	return false
}

// firstTime returns the time of the first record that can be read, or no time: what is wrong with a file is said when it is read.
func (m *merged) firstTime(in recordedInput, path string) (time.Time, error) {
	var ev reader.Event
	for {
		switch err := in.Next(&ev); {
		case err == nil:
			return ev.Time, m.checkClock(in, path)
		case !ofOneRecord(err):
			return time.Time{}, nil
		}
	}
}

// ofOneRecord reports whether an error is about a record, behind which there may be others.
func ofOneRecord(err error) bool {
	return errors.Is(err, jsonlines.ErrFormat) || errors.Is(err, reader.ErrMalformed)
}

// Next reads the next record of the files. An error that is not about one record comes at the end of the others, if there are several
// files.
func (m *merged) Next(ev *reader.Event) error {
	for len(m.files) > 0 {
		f := m.files[0]
		if f.ready {
			*ev, f.ready = f.ev, false // what it refers to is valid until the file's next record is read
			return nil
		}
		switch err := m.advance(f); {
		case err == nil:
			heap.Fix(&m.files, 0)
		case ofOneRecord(err):
			return m.name(f, err)
		default:
			m.close(f)
			heap.Pop(&m.files)
			switch {
			case errors.Is(err, io.EOF):
				continue
			case errors.Is(err, perfdata.ErrCut):
				err = hintError{fmt.Errorf("%s: %w", f.path, err), "all records before it are there: the program that recorded them was killed, or its disk was full"}
			default:
				err = m.name(f, err)
			}
			if m.one {
				return err
			}
			m.errs = errors.Join(m.errs, err)
		}
	}
	return cmp.Or(m.errs, io.EOF)
}

// advance reads the next record of a file.
func (m *merged) advance(f *mergedFile) (err error) {
	if f.in.recorded == nil {
		if f.in, err = m.open(f.path); err != nil {
			return err
		}
	}
	switch from := f.in.recorded.(type) {
	case *jsonlines.Reader:
		from.Lost, from.Unwanted = m.lost, m.unwanted
	case *perfdata.Reader:
		from.Lost = m.lost
	}
	if err := f.in.Next(&f.ev); err != nil {
		return err
	}
	f.time, f.ready = f.ev.Time, true
	return m.checkClock(f.in, f.path)
}

// name adds the name of one of several files to an error that may not have it.
func (m *merged) name(f *mergedFile, err error) error {
	if _, named := errors.AsType[*os.PathError](err); m.one || named {
		return err
	}
	return fmt.Errorf("%s: %w", f.path, err)
}

// Close closes the files.
func (m *merged) Close() {
	for _, f := range m.files {
		m.close(f)
	}
}

// close closes a file, and notes what it lacks.
func (m *merged) close(f *mergedFile) {
	if f.in.recorded == nil {
		return
	}
	m.missing.add(f)
	_ = f.in.Close() // opened read-only
	f.in = recordedInput{}
}

// fileHeap is a heap of files by the time of their next record, and for equal times by their order in the command line.
type fileHeap []*mergedFile

func (h fileHeap) Len() int { return len(h) }
func (h fileHeap) Less(i, j int) bool {
	if c := h[i].time.Compare(h[j].time); c != 0 {
		return c < 0
	}
	return h[i].number < h[j].number
}
func (h fileHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements [heap.Interface].
func (h *fileHeap) Push(x any) { *h = append(*h, x.(*mergedFile)) }

// Pop implements [heap.Interface].
func (h *fileHeap) Pop() any {
	last := len(*h) - 1
	f := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return f
}
