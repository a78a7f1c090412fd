package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/jsonlines"
	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/perfdata"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
)

// replaySelection selects records of recordings.
type replaySelection struct {
	times timeRange
	where *where.Condition // nil without one
}

// recordings is a source of the records of files, in order of time, as far as each file is. A regular file is opened for its first record,
// and again when it is the file's turn: of a long recording in many files, about one is open at a time.
type recordings struct {
	ctx      context.Context // ends reading
	stop     context.CancelFunc
	open     func(path string) (recordedInput, error)
	selected replaySelection
	lost     func(name string, n uint64, at time.Time) error // see jsonlines.Reader
	files    []*mergedFile                                   // in order of the time of their next record, and for equal times in that of the command line
	one      string                                          // the only file: its name is not in errors; "" of several
	errs     error                                           // of files that were not read to their end

	stats     reader.Stats
	malformed int   // records
	firstErr  error // about one

	skipped   uint64   // records that are not of tracepoints
	noWall    []string // files without the time of day
	otherTime []string // files of another clock than CLOCK_MONOTONIC
}

type mergedFile struct {
	path   string
	number int
	in     recordedInput // empty while it is closed
	time   time.Time     // of the next record, or of one that is not later
	ev     record.Record
	ready  bool // the next record is in ev
}

// openRecordings opens files. If the times are limited, files without the time of day are an error.
func (e *env) openRecordings(ctx context.Context, paths []string, table *symbols.Table, selected replaySelection) (*recordings, error) {
	m := &recordings{selected: selected}
	m.ctx, m.stop = context.WithCancel(ctx)
	if len(paths) == 1 {
		m.one = paths[0]
	}
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
		case path == "-" && slices.ContainsFunc(m.files, func(f *mergedFile) bool { return f.path == "-" }):
			err = usageError{errors.New("- is standard input, which can be read once")}
		case m.one != "" || path == "-" || statErr != nil || !st.Mode().IsRegular():
			f.in, err = m.open(path)
		case st.Size() == 0: // a recording was killed before it wrote the beginning of its next file
			continue
		default:
			f.time, err = first(path)
		}
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		m.files = append(m.files, f)
	}
	slices.SortFunc(m.files, compareFiles)
	return m, nil
}

// firstTime returns the time of the first record that can be read, or no time: what is wrong with a file is said when it is read.
func (m *recordings) firstTime(in recordedInput, path string) (time.Time, error) {
	var ev record.Record
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
	return errors.Is(err, jsonlines.ErrFormat) || errors.Is(err, record.ErrMalformed)
}

// Next returns the next selected record. It counts the records that cannot be read. Any other error comes at the end, if there are
// several files.
func (m *recordings) Next(ev *record.Record) error {
	for {
		err := io.EOF
		if m.ctx.Err() == nil {
			err = m.next(ev)
		}
		switch {
		case err == nil:
			m.stats.Total.Read++
			if ev.Undecodable {
				m.stats.Undecodable++
			}
			if m.selected.times.selects(ev.Time) && m.selected.where.Match(ev) {
				return nil
			}
			m.stats.Unselected++
		case m.ctx.Err() != nil:
			return io.EOF
		case ofOneRecord(err):
			m.malformed++
			m.firstErr = cmp.Or(m.firstErr, err)
		default:
			return err
		}
	}
}

// SetDeadline does nothing: a file always has a record ready.
func (*recordings) SetDeadline(time.Time) {}

func (*recordings) AttachProcess(int) {}

// Stop makes Next return io.EOF, also while it waits for a pipe.
func (m *recordings) Stop() error {
	m.stop()
	return nil
}

// Stats returns how many records were read, how many of these are not selected, and how many were lost when they were recorded.
func (m *recordings) Stats() (reader.Stats, error) { return m.stats, nil }

// unwanted counts a record, whose time is known before its other parts, if that is not selected.
func (m *recordings) unwanted(at time.Time) bool {
	if m.ctx.Err() != nil || m.selected.times.selects(at) {
		return false
	}
	m.stats.Total.Read++
	m.stats.Unselected++
	return true
}

// noteLost counts lost records, which not every output shows.
func (m *recordings) noteLost(name string, n uint64, at time.Time) error {
	if !at.IsZero() && !m.selected.times.has(at) {
		return nil
	}
	m.stats.Total.Lost += n
	return m.lost(name, n, at)
}

// malformedError returns an error if records could not be read.
func (m *recordings) malformedError() error {
	if m.malformed == 0 {
		return nil
	}
	what := output.Plural(m.malformed, "record")
	if m.one != "" {
		what += " of " + m.one
	}
	return fmt.Errorf("%s could not be read, the first: %w", what, m.firstErr)
}

// next reads the next record of the files.
func (m *recordings) next(ev *record.Record) error {
	for len(m.files) > 0 {
		f := m.files[0]
		if f.ready {
			*ev, f.ready = f.ev, false // what it refers to is valid until the file's next record is read
			return nil
		}
		switch err := m.advance(f); {
		case err == nil:
			i, _ := slices.BinarySearchFunc(m.files[1:], f, compareFiles)
			copy(m.files, m.files[1:1+i])
			m.files[i] = f
		case ofOneRecord(err):
			return m.name(f, err)
		default:
			m.close(f)
			m.files = slices.Delete(m.files, 0, 1)
			switch {
			case errors.Is(err, io.EOF):
				continue
			case errors.Is(err, perfdata.ErrCut):
				err = hintError{fmt.Errorf("%s: %w", f.path, err), "all records before it are there: the program that recorded them was killed, or its disk was full"}
			default:
				err = m.name(f, err)
			}
			if m.one != "" {
				return err
			}
			m.errs = errors.Join(m.errs, err)
		}
	}
	return cmp.Or(m.errs, io.EOF)
}

func (m *recordings) advance(f *mergedFile) (err error) {
	if f.in.recorded == nil {
		if f.in, err = m.open(f.path); err != nil {
			return err
		}
	}
	switch from := f.in.recorded.(type) {
	case *jsonlines.Reader:
		if from.Lost = m.noteLost; m.selected.times.limited() {
			from.Unwanted = m.unwanted
		}
	case *perfdata.Reader:
		from.Lost = m.noteLost
	}
	if err := f.in.Next(&f.ev); err != nil {
		return err
	}
	f.time, f.ready = f.ev.Time, true
	return m.checkClock(f.in, f.path)
}

// name adds the name of one of several files to an error that may not have it.
func (m *recordings) name(f *mergedFile, err error) error {
	if _, named := errors.AsType[*os.PathError](err); m.one != "" || named {
		return err
	}
	return fmt.Errorf("%s: %w", f.path, err)
}

func (m *recordings) Close() error {
	m.stop()
	for _, f := range m.files {
		m.close(f)
	}
	return nil
}

func (m *recordings) close(f *mergedFile) {
	if f.in.recorded == nil {
		return
	}
	if from, ok := f.in.recorded.(*perfdata.Reader); ok {
		m.skipped += from.Skipped()
		switch clock := from.Clock(); {
		case !clock.WallTime:
			m.noWall = append(m.noWall, f.path)
		case !clock.Monotonic:
			m.otherTime = append(m.otherTime, f.path)
		}
	}
	_ = f.in.Close() // opened read-only
	f.in = recordedInput{}
}

func compareFiles(f, g *mergedFile) int {
	return cmp.Or(f.time.Compare(g.time), cmp.Compare(f.number, g.number))
}

// unlike is the beginning of a sentence on files, what they do not have.
func (m *recordings) unlike(paths []string) string {
	switch {
	case m.one != "":
		return "the recording does"
	case len(paths) == 1:
		return paths[0] + " does"
	}
	return fmt.Sprintf("%s and %s do", paths[0], output.Plural(len(paths)-1, "more file"))
}

// checkClock returns an error if the time of day is necessary, and a file does not have it.
func (m *recordings) checkClock(in recordedInput, path string) error {
	if p, ok := in.recorded.(*perfdata.Reader); ok && m.selected.times.limited() && !p.Clock().WallTime {
		return fmt.Errorf("%s: --since and --until need the time of day, which this recording does not have (perf record -k mono keeps it)", path)
	}
	return nil
}

// sayMissing says what the records lack. The files must be closed.
func (m *recordings) sayMissing(e *env, shown bool) {
	if m.skipped > 0 {
		e.say("! %s records of events that are no tracepoints are not shown", output.Count(m.skipped))
	}
	if len(m.noWall) > 0 && shown { // else there are no times
		e.say("! %s not have the time of day: times begin in 1970 (perf record -k mono keeps it)", m.unlike(m.noWall))
	}
	if len(m.otherTime) > 0 && shown {
		e.say("! times of --time mono and monotonic_ns are not of CLOCK_MONOTONIC, but of the clock of the recording")
	}
}

type recorded interface {
	// Next reads the next record. It returns io.EOF at the end. After an error about one record, it continues with the
	// next.
	Next(ev *record.Record) error
}

type recordedInput struct {
	recorded
	io.Closer
}

// openRecorded opens a file with records. It adds the file's mappings of processes to the table of symbols.
func (e *env) openRecorded(ctx context.Context, path string, table *symbols.Table) (recordedInput, error) {
	if path == "-" {
		r, err := recordedFrom(ctx, e.in, table)
		return recordedInput{r, io.NopCloser(e.in)}, err
	}
	f, err := untilDone(ctx, func() (*os.File, error) { return os.Open(path) })
	if err != nil {
		return recordedInput{}, err
	}
	r, err := recordedFrom(ctx, f, table)
	if err != nil {
		return recordedInput{}, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return recordedInput{r, f}, nil
}

func recordedFrom(ctx context.Context, in io.Reader, table *symbols.Table) (recorded, error) {
	f, ok := in.(*os.File)
	if !ok {
		return recordedStream(ctx, in, table)
	}
	if st, err := f.Stat(); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() {
		return recordedStream(ctx, in, table)
	}
	begin := make([]byte, perfdata.MagicSize)
	n, err := f.ReadAt(begin, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if perfdata.IsFile(begin[:n]) || strings.HasSuffix(f.Name(), "perf.data") { // Open says what is wrong with another beginning
		return perfdata.Open(f, table)
	}
	if format, err := formatOf(f.Name(), ""); err == nil && format.suffix != ".jsonl" {
		return nil, usageError{errors.New("replay reads JSON lines and perf.data; other formats are made from them with --to")}
	}
	if bytes.HasPrefix(begin[:n], []byte{0x1f, 0x8b}) { // gzip: RFC 1952
		return nil, hintError{errors.New("the file is compressed"), "zcat FILE | uevents replay -"}
	}
	return jsonlines.NewReader(f), nil
}

// recordedStream returns the records of a pipe, which can be read once, from its beginning to its end.
func recordedStream(ctx context.Context, in io.Reader, table *symbols.Table) (recorded, error) {
	buffered := bufio.NewReaderSize(&stream{ctx: ctx, from: in}, 64<<10)
	begin, err := buffered.Peek(perfdata.MagicSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if perfdata.IsFile(begin) {
		return perfdata.Open(buffered, table)
	}
	return jsonlines.NewReader(buffered), nil
}

// stream reads what another program writes, until ctx is done.
type stream struct {
	ctx  context.Context
	from io.Reader
}

func (s *stream) Read(p []byte) (int, error) {
	b, err := untilDone(s.ctx, func() ([]byte, error) {
		b := make([]byte, len(p)) // p is not ours after Read
		n, err := s.from.Read(b)
		return b[:n], err
	})
	return copy(p, b), err
}

// untilDone returns the result of f, which may wait for another program, or an error once ctx is done. f goes on until the
// command has ended.
func untilDone[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	results := make(chan result, 1)
	go func() {
		value, err := f()
		results <- result{value, err}
	}()
	select {
	case r := <-results:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
