package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/otlpfile"
	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/perfetto"
	"github.com/userevents/userevents-go/cmd/uevents/internal/profile"
)

// recordingFormat is a file format, which the suffix of a file's name selects.
type recordingFormat struct {
	suffix string
	help   string
	next   string // usage of the file, printed after its name
	stack  bool   // it needs the stacks of events
	json   bool   // package output writes it, from the JSON of attributes
	parts  bool   // each record is in the file as soon as it is written, and needs none of another file
	open   func(r *recording, o *recordingOptions) (output.Writer, error)
}

// recordingFormats are all formats. A longer suffix comes before its own ending.
var recordingFormats = []recordingFormat{
	{suffix: ".jsonl", help: "JSON lines, as uevents watch -o json writes them", next: "show it: uevents replay FILE", json: true, parts: true, open: openText("json")},
	{suffix: ".txt", help: "lines of text, as uevents watch writes them, with dates", json: true, parts: true, open: openText("text")},
	{suffix: ".pftrace", help: "a timeline for https://ui.perfetto.dev", next: "open it at https://ui.perfetto.dev", open: openPerfetto},
	{suffix: ".otlp.json", help: "OTLP JSON lines for the Collector, a file for each signal", next: "the Collector's receiver otlpjsonfile reads it", open: openOTLP},
	{suffix: ".pb.gz", help: "a profile of the stacks for go tool pprof, with the ids of spans as tags", next: "show it: go tool pprof -http=: FILE", stack: true, open: openProfile},
}

func openText(name string) func(*recording, *recordingOptions) (output.Writer, error) {
	return func(r *recording, o *recordingOptions) (output.Writer, error) {
		w, err := r.buffered()
		if err != nil {
			return nil, err
		}
		return output.New(name, w, output.Options{Stack: o.stack, Today: time.Unix(0, 0)}) // it is read on another day
	}
}

func openPerfetto(r *recording, o *recordingOptions) (output.Writer, error) {
	w, err := r.buffered()
	if err != nil {
		return nil, err
	}
	var options perfetto.Options
	if o.live {
		options.Clocks = perfetto.MachineClocks
	}
	return perfetto.NewWriter(w, options), nil
}

// openOTLP creates the file of a signal with its first data. Files of an earlier recording with this name would be
// taken for parts of this one: openOTLP removes them, or without replace returns an error.
func openOTLP(r *recording, o *recordingOptions) (output.Writer, error) {
	base := strings.TrimSuffix(r.path, r.format.suffix)
	name := func(signal string) string { return base + "." + signal + r.format.suffix }
	for _, signal := range []string{otlpfile.Logs, otlpfile.Traces, otlpfile.Metrics} {
		if !o.replace {
			if _, err := os.Lstat(name(signal)); err == nil {
				return nil, hintForFile(&fs.PathError{Op: "create", Path: name(signal), Err: fs.ErrExist})
			}
			continue
		}
		if err := os.Remove(name(signal)); err != nil && !errors.Is(err, fs.ErrNotExist) {
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

func openProfile(r *recording, o *recordingOptions) (output.Writer, error) {
	w, err := r.buffered()
	if err != nil {
		return nil, err
	}
	return profile.NewWriter(w, profile.Options{Symbols: o.stack, Weight: o.weight}), nil
}
