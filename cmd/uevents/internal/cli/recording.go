package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/perfdata"
	"github.com/userevents/userevents-go/cmd/uevents/internal/perfetto"
	"github.com/userevents/userevents-go/cmd/uevents/internal/profile"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// recordingOptions are what the formats of files need to know.
type recordingOptions struct {
	dir     *tracefs.Dir
	stack   *symbols.Table // nil if events have no stacks
	weight  string         // of profiles
	command []string
}

// recordingFormat is a format of files, which is known by the end of their names.
type recordingFormat struct {
	suffix string
	help   string
	open   func(f *os.File, buffered *bufio.Writer, o *recordingOptions) (output.Writer, error)
}

var recordingFormats = []recordingFormat{
	{".jsonl", "JSON lines, as uevents watch -o json writes them", textFormat("json")},
	{".txt", "lines of text, as uevents watch writes them", textFormat("text")},
	{".pftrace", "a timeline for https://ui.perfetto.dev", func(_ *os.File, w *bufio.Writer, _ *recordingOptions) (output.Writer, error) {
		return perfetto.NewWriter(w, &perfetto.Options{Clocks: perfetto.ReadClocks}), nil
	}},
	{".perf.data", "for perf script and perf report; the cheapest format", newPerfData},
	{".pb.gz", "a profile of the stacks for go tool pprof", func(_ *os.File, w *bufio.Writer, o *recordingOptions) (output.Writer, error) {
		return profile.New(w, profile.Options{Symbols: o.stack, Weight: o.weight}), nil
	}},
}

func textFormat(name string) func(*os.File, *bufio.Writer, *recordingOptions) (output.Writer, error) {
	return func(_ *os.File, w *bufio.Writer, o *recordingOptions) (output.Writer, error) {
		return output.New(name, w, output.Options{Stack: o.stack})
	}
}

// newPerfData writes without the buffer: the format has one of its own, and a header that is written last.
func newPerfData(f *os.File, _ *bufio.Writer, o *recordingOptions) (output.Writer, error) {
	options := perfdata.Options{
		Format:    func(system, name string) (string, error) { return o.dir.Event(system + ":" + name).FormatText() },
		Callchain: o.stack != nil, Symbols: o.stack, Command: o.command,
	}
	// perf shows them; a machine that does not tell them has none.
	options.Hostname, _ = os.Hostname()
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		options.Release = strings.TrimSpace(string(release))
	}
	return perfdata.NewWriter(f, options)
}

// suffixes lists the ends of names that have a format.
func suffixes() (list []string) {
	for _, f := range recordingFormats {
		list = append(list, f.suffix)
	}
	return list
}

// recording is a file that events are written to.
type recording struct {
	output.Writer
	buffered *bufio.Writer
	file     *os.File
}

// createRecording creates a file, which must not exist, for the owner alone: logs have secrets.
func createRecording(path string, o *recordingOptions) (*recording, error) {
	for _, format := range recordingFormats {
		if !strings.HasSuffix(path, format.suffix) {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		r := &recording{file: f, buffered: bufio.NewWriterSize(f, 256<<10)}
		if r.Writer, err = format.open(f, r.buffered, o); err != nil {
			return nil, errors.Join(err, f.Close(), os.Remove(path))
		}
		return r, nil
	}
	return nil, usageError{fmt.Errorf("%q has no format: names end in %s", path, strings.Join(suffixes(), ", "))}
}

// Close writes what is buffered, and closes the file.
func (r *recording) Close() error {
	return errors.Join(r.Writer.Close(), r.buffered.Flush(), r.file.Close())
}

// names returns the names of the files.
func (r *recording) names() []string { return []string{r.file.Name()} }
