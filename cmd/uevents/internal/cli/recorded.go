package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/userevents/userevents-go/cmd/uevents/internal/jsonlines"
	"github.com/userevents/userevents-go/cmd/uevents/internal/perfdata"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader"
)

// recorded reads the records of a file.
type recorded interface {
	// Next reads the next record. It returns io.EOF at the end. After an error about one record, it continues with the
	// next.
	Next(ev *reader.Event) error
}

// recordedInput is a file with records.
type recordedInput struct {
	recorded
	io.Closer
}

// openRecorded opens a file with records. It adds the file's mappings of processes to the table of symbols.
func (e *env) openRecorded(ctx context.Context, path string, table *symbols.Table) (recordedInput, error) {
	if path == "-" {
		var r recorded
		var err error
		if f, ok := e.in.(*os.File); ok {
			r, err = recordedFrom(ctx, f, table)
		} else {
			r, err = recordedStream(ctx, e.in, table)
		}
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

// recordedFrom returns the records of a file, whose content is its format.
func recordedFrom(ctx context.Context, f *os.File, table *symbols.Table) (recorded, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return recordedStream(ctx, f, table)
	}
	begin := make([]byte, perfdata.MagicSize)
	n, err := f.ReadAt(begin, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if perfdata.IsFile(begin[:n]) {
		return perfdata.Open(f, table)
	}
	if strings.HasSuffix(f.Name(), "perf.data") {
		return perfdata.Open(f, table) // it says what is wrong with the beginning
	}
	if format, err := formatOf(f.Name(), ""); err == nil && format.suffix != ".jsonl" {
		return nil, usageError{errors.New("replay reads JSON lines and perf.data; other formats are made from them with --to")}
	}
	if isGzip(begin[:n]) {
		return nil, hintError{errors.New("the file is compressed"), "zcat FILE | uevents replay -"}
	}
	return jsonlines.NewReader(f), nil
}

// isGzip reports whether a file begins as RFC 1952 says.
func isGzip(begin []byte) bool { return bytes.HasPrefix(begin, []byte{0x1f, 0x8b}) }

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

// Read implements [io.Reader].
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
