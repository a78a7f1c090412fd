package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/otlpfile"
	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/perfetto"
	"github.com/userevents/userevents-go/cmd/uevents/internal/profile"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/record"
)

// recordingFormat is a file format, which the suffix of a file's name selects.
type recordingFormat struct {
	suffix string
	help   string
	next   string // usage of the file, printed after its name
	stack  bool   // it needs the stacks of events
	lines  bool   // each record is a line, which needs none of another file
	// open returns the writer of a file; nil for OTLP, which has several.
	open func(to io.Writer, o *recordingOptions) (output.Writer, error)
}

// recordingFormats are all formats. A longer suffix comes before its own ending.
var recordingFormats = []recordingFormat{
	{suffix: ".jsonl", help: "JSON lines, as uevents watch -o json writes them", next: "show it: uevents replay FILE", lines: true, open: openText("json")},
	{suffix: ".txt", help: "lines of text, as uevents watch writes them, with dates", lines: true, open: openText("text")},
	{suffix: ".pftrace", help: "a timeline for https://ui.perfetto.dev", next: "open it at https://ui.perfetto.dev", open: openPerfetto},
	{suffix: ".otlp.json", help: "OTLP JSON lines for the Collector, a file for each signal", next: "the Collector's receiver otlpjsonfile reads it"},
	{suffix: ".pb.gz", help: "a profile of the stacks for go tool pprof, with the ids of spans as tags", next: "show it: go tool pprof -http=: FILE", stack: true, open: openProfile},
}

func openText(name string) func(io.Writer, *recordingOptions) (output.Writer, error) {
	return func(to io.Writer, o *recordingOptions) (output.Writer, error) {
		return output.New(name, to, output.Options{Stack: o.stack, Today: time.Unix(0, 0)}) // it is read on another day
	}
}

func openPerfetto(to io.Writer, o *recordingOptions) (output.Writer, error) {
	return perfetto.NewWriter(to, o.clocks), nil
}

func openProfile(to io.Writer, o *recordingOptions) (output.Writer, error) {
	return profile.NewWriter(to, o.stack, o.weight), nil
}

func (r *recording) open() (output.Writer, error) {
	if r.format.open == nil {
		return r.openOTLP()
	}
	f, err := r.create(r.path)
	if err != nil {
		return nil, err
	}
	return r.format.open(f.buffered, r.o)
}

// openOTLP creates the file of a signal with its first data. Files of an earlier recording with this name would be
// taken for parts of this one: openOTLP removes them, or without replace returns an error.
func (r *recording) openOTLP() (output.Writer, error) {
	base := strings.TrimSuffix(r.path, r.format.suffix)
	name := func(signal string) string { return base + "." + signal + r.format.suffix }
	for _, signal := range []string{otlpfile.Logs, otlpfile.Traces, otlpfile.Metrics} {
		if !r.o.replace {
			if _, err := os.Lstat(name(signal)); err == nil {
				return nil, hintForFile(&fs.PathError{Op: "create", Path: name(signal), Err: fs.ErrExist})
			}
			continue
		}
		if err := removeOutput(name(signal)); err != nil {
			return nil, err
		}
	}
	return otlpfile.NewWriter(func(signal string) (io.Writer, error) {
		f, err := r.create(name(signal))
		if err != nil {
			return nil, err
		}
		return f.buffered, nil
	}), nil
}

type recordingOptions struct {
	clocks  func() (perfetto.Clocks, error) // of this machine; nil if the records come from a file
	stack   *symbols.Table                  // nil without stacks
	weight  string                          // field to sum up in profiles
	format  string                          // name of the format; empty if the name of the file selects it
	replace bool                            // replace existing files
}

// recording is a file, or several files of one format, for events.
type recording struct {
	output.Writer
	ctx    context.Context // ends the wait for a program that reads a pipe
	path   string
	format *recordingFormat
	files  []*recordedFile
	pipe   *os.File // the file if it is a pipe; does not change after createRecording
	o      *recordingOptions
	failed error // the first error of writing
	size   int64 // bytes in the files, after Close
}

// createRecording creates a file. If it is a pipe, it waits for a program that reads it, until ctx is done. Errors of its name
// and format are usage errors.
func createRecording(ctx context.Context, path string, o *recordingOptions) (*recording, error) {
	format, err := formatOf(path, o.format)
	if err != nil {
		return nil, err
	}
	r := &recording{ctx: ctx, path: path, format: format, o: o}
	if r.Writer, err = r.open(); err != nil {
		return nil, hintForFile(errors.Join(err, r.discard()))
	}
	return r, nil
}

// Write writes an event. After an error the file keeps the events before.
func (r *recording) Write(ev *record.Record) error { return r.note(r.Writer.Write(ev)) }

func (r *recording) Lost(name string, n uint64, at time.Time) error {
	return r.note(r.Writer.Lost(name, n, at))
}

func (r *recording) note(err error) error {
	if err == nil {
		return nil
	}
	if r.failed == nil {
		r.failed = err
	}
	return r.hint(err)
}

// hint says what a file has after an error of writing it, and what to do.
func (r *recording) hint(err error) error {
	switch {
	case !noSpace(err):
		return hintForFile(err)
	case r.format.stack: // all of a profile is written at its end
		return hintError{err, "the profile is incomplete; " + makeRoom}
	}
	return hintError{err, "the file has what was recorded before; " + makeRoom}
}

func noSpace(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

const makeRoom = "make room, or select fewer records"

// flush writes the buffers, so that little is missing if the process is killed.
func (r *recording) flush() error {
	for _, f := range r.files {
		if err := f.buffered.Flush(); err != nil {
			return r.note(err)
		}
	}
	return nil
}

// limitPipe makes writing to a pipe fail after a while, if the program that reads it does not.
func (r *recording) limitPipe() {
	if r.pipe != nil {
		_ = r.pipe.SetWriteDeadline(time.Now().Add(pipeTime)) // or it is closed
	}
}

// pipeTime is how long an interrupted command waits for a program that reads a pipe.
var pipeTime = 2 * time.Second

// Close writes the remaining data, and closes the files. It does not return an error of Write again.
func (r *recording) Close() error {
	failed := r.failed != nil
	err := r.Writer.Close()
	if err == nil {
		err = r.flush()
	}
	if !failed {
		r.failed = err
	}
	r.size = r.written()
	for _, f := range r.files {
		f.closed, _ = f.Stat() // nil on errors
		if err == nil {
			err = f.there()
		}
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}
	if failed {
		return nil
	}
	return r.hint(err)
}

// discard closes and removes the files. Devices, pipes and files of others stay.
func (r *recording) discard() (err error) {
	for _, f := range r.files {
		if closeErr := f.Close(); !errors.Is(closeErr, fs.ErrClosed) {
			err = errors.Join(err, closeErr)
		}
		if f.created.Mode().IsRegular() && f.there() == nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}
	return err
}

// written returns how many bytes are in the files, without those that are buffered.
func (r *recording) written() (n int64) {
	for _, f := range r.files {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			n += st.Size()
		} else {
			n += f.sent
		}
	}
	return n
}

func (r *recording) names() []string { return mapped(r.files, (*recordedFile).Name) }

func (r *recording) wrote(what string) string {
	names := r.names()
	if len(names) == 0 {
		return "wrote nothing: " + what
	}
	part, readable := "; ", true
	if r.failed != nil {
		part, readable = ", a part of ", !r.format.stack
	}
	line := "wrote " + strings.Join(names, ", ") + ": " + output.FileSize(r.size) + part + what
	if readable && r.format.next != "" {
		line += "; " + strings.ReplaceAll(r.format.next, "FILE", r.path)
	}
	return line
}

func hintForFile(err error) error {
	switch {
	case noSpace(err):
		return hintError{err, makeRoom}
	case errors.Is(err, fs.ErrExist):
		return hintError{err, "choose another name, or remove it"}
	}
	return err
}

// formatOf returns the format with a name such as jsonl, or if the name is empty, the format of a file's name.
func formatOf(path, name string) (*recordingFormat, error) {
	if path == "-" {
		return nil, usageError{errors.New("- is not written as a file: uevents watch -o json and uevents replay -o json write to standard output")}
	}
	for i := range recordingFormats {
		if f := &recordingFormats[i]; f.name() == name || name == "" && strings.HasSuffix(path, f.suffix) {
			return f, nil
		}
	}
	if name != "" {
		return nil, usageError{fmt.Errorf("format %q is none of %s", name, strings.Join(formatNames(), ", "))}
	}
	return nil, usageError{fmt.Errorf("%q has no format: names end in .%s; see --format", path, strings.Join(formatNames(), ", ."))}
}

// name returns the name of the format: its suffix without the dot.
func (f recordingFormat) name() string { return strings.TrimPrefix(f.suffix, ".") }

func formatNames() []string { return mapped(recordingFormats, recordingFormat.name) }

func formatsHelp() string {
	var b strings.Builder
	for i := range recordingFormats {
		f := &recordingFormats[i]
		fmt.Fprintf(&b, "  %-10s %s\n", f.name(), f.help)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
