package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/record"
)

type rotationFlags struct {
	maxSize  string
	maxFiles int

	size int64 // of maxSize, by check
}

const rotationHelp = `With --max-size, the recording has several files: one that has this SIZE is closed after the
record that filled it, and the next record begins another one. FILE itself is not written: the
time at which a file begins comes before the end of its name, in UTC, as in
myapp-20261127T031200.000Z.jsonl. Names of newer files sort behind those of older ones. Each
file can be read alone, and uevents replay reads all: myapp-*.jsonl. With --max-files, record
removes its oldest file when there are more. It replaces and removes no other file: those of
earlier recordings stay, and are not counted.`

// leastFile is the smallest --max-size: a record has up to 64 KiB.
const leastFile = 64 << 10

func (f *rotationFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.maxSize, "max-size", "", "begin another file when one has this `SIZE`, such as 64M; at least 64K")
	flags.IntVar(&f.maxFiles, "max-files", 0, "keep the newest `N` files of --max-size, and remove older ones; 0 keeps all")
}

func (f *rotationFlags) rotates() bool { return f.maxSize != "" }

// check checks the flags for a file of a format. Errors are usage errors.
func (f *rotationFlags) check(path string, format *recordingFormat) error {
	switch {
	case f.maxFiles < 0:
		return usageError{errors.New("--max-files cannot be negative")}
	case !f.rotates() && f.maxFiles > 0:
		return usageError{errors.New("--max-files needs --max-size, such as 64M")}
	case !f.rotates():
		return nil
	case f.maxFiles == 1:
		return usageError{errors.New("--max-files must be 2 or more: a file that begins has few records")}
	}
	size, err := output.ParseSize(f.maxSize)
	if err != nil {
		return usageError{fmt.Errorf("--max-size: %w", err)}
	}
	if size < leastFile {
		return usageError{errors.New("--max-size must be 64K or more")}
	}
	f.size = int64(size)
	if !format.lines {
		return usageError{fmt.Errorf("--max-size is for formats whose files can be read alone, such as .jsonl and .txt: make a %s of these by uevents replay FILE... --to", format.suffix)}
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() { // nothing is written to it
		return usageError{fmt.Errorf("--max-size makes files beside FILE, and %s is no regular file", path)}
	}
	return nil
}

// create creates the first file.
func (f *rotationFlags) create(ctx context.Context, e *env, path string, o *recordingOptions) (*rotation, error) {
	r := &rotation{ctx: ctx, now: e.now, o: o, limit: f.size, maxFiles: f.maxFiles}
	var err error
	if f.rotates() {
		if r.base, r.suffix, err = nameParts(path, o.format); err != nil {
			return nil, err
		}
		r.recording, err = r.begin()
	} else {
		r.recording, err = createRecording(ctx, path, o)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// nameParts returns the parts of a name between which the time comes.
func nameParts(path, format string) (base, suffix string, err error) {
	f, err := formatOf(path, format)
	if err != nil {
		return "", "", err
	}
	dir, name := filepath.Split(path)
	suffix = filepath.Ext(name)
	if strings.HasSuffix(name, f.suffix) {
		suffix = f.suffix
	}
	if base = strings.TrimSuffix(name, suffix); base != "" {
		base += "-"
	}
	return dir + base, suffix, nil
}

// fileTime is the time in the names of files, in UTC: names sort like times.
const fileTime = "20060102T150405.000Z"

// rotation is a recording in one file, or if there is a limit of its size, in several files one after the other.
type rotation struct {
	*recording // the file that is written, or the last one

	ctx          context.Context
	now          func() time.Time
	o            *recordingOptions
	limit        int64     // bytes of a file; 0 without a limit
	maxFiles     int       // 0 without a limit
	base, suffix string    // of the names
	named        time.Time // in the name of the newest file

	records uint64       // of the file that is written
	closed  []closedFile // that are kept, oldest first
	ended   bool         // the last file is one of them
	removed closedFiles  // to keep no more than maxFiles
	moved   closedFiles  // others than this recording have moved, removed or replaced them
}

type closedFile struct {
	path    string
	state   fs.FileInfo
	records uint64
}

type closedFiles struct {
	files   int
	records uint64
}

func (c *closedFiles) add(f *closedFile) {
	c.files++
	c.records += f.records
}

// begin creates a file whose name sorts behind that of the one before, whatever the clock shows.
func (r *rotation) begin() (*recording, error) {
	for n := 1; ; n++ {
		now := r.now().Truncate(time.Millisecond)
		if next := r.named.Add(time.Millisecond); now.Before(next) {
			now = next
		}
		r.named = now
		name := r.base + now.UTC().Format(fileTime)
		if n > 100 { // another user who may create files here cannot have foreseen the name
			name += "-" + rand.Text()[:8]
		}
		file, err := createRecording(r.ctx, name+r.suffix, r.o)
		if n < 200 && errors.Is(err, fs.ErrExist) { // of a recording with the same name
			continue
		}
		return file, err
	}
}

func (r *rotation) Write(ev *record.Record) error {
	if r.limit > 0 && r.records > 0 && r.full(r.limit) {
		if err := r.next(); err != nil {
			return err
		}
	}
	r.records++
	return r.recording.Write(ev)
}

// full reports whether the files have a number of bytes when they are closed.
func (r *recording) full(limit int64) bool {
	n := int64(0)
	for _, f := range r.files {
		n += f.sent + int64(f.buffered.Buffered())
	}
	return n >= limit
}

// next closes the file, creates another one, and removes the oldest. After an error, all files are closed, and there are those that
// there were before.
func (r *rotation) next() error {
	if err := r.end(); err != nil {
		r.failed = cmp.Or(r.failed, err)
		return err
	}
	file, err := r.begin()
	if err != nil {
		return r.note(fmt.Errorf("beginning another file: %w", err))
	}
	if err := r.removeOldest(); err != nil {
		return r.note(errors.Join(fmt.Errorf("removing the oldest file: %w", err), file.discard()))
	}
	r.recording, r.records, r.ended = file, 0, false
	return nil
}

func (r *rotation) end() error {
	r.ended = true
	err := r.recording.Close()
	for _, f := range r.files {
		r.closed = append(r.closed, closedFile{path: f.Name(), state: f.closed, records: r.records})
	}
	return err
}

func (r *rotation) removeOldest() error {
	for ; r.maxFiles > 0 && len(r.closed) >= r.maxFiles; r.closed = r.closed[1:] {
		oldest := &r.closed[0]
		switch ours, err := oldest.there(); {
		case err != nil:
			return err
		case !ours:
			r.moved.add(oldest)
			continue
		}
		if err := os.Remove(oldest.path); err != nil {
			return err
		}
		r.removed.add(oldest)
	}
	return nil
}

// there reports whether the name is still that of the file. The file is closed: its inode alone may be that of another one by now.
func (f *closedFile) there() (bool, error) {
	named, err := os.Lstat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && f.state != nil && os.SameFile(f.state, named) && f.state.Size() == named.Size(), err
}

// Close closes the file that is written. It does not return an error of Write again.
func (r *rotation) Close() error {
	if r.ended {
		return nil
	}
	return r.end()
}

// limitPipe is that of the recording, which can be a pipe only if it has one file.
func (r *rotation) limitPipe() {
	if r.limit == 0 {
		r.recording.limitPipe()
	}
}

// written returns how many bytes are in the files that are kept, without those that are buffered.
func (r *rotation) written() (n int64) {
	if !r.ended {
		n = r.recording.written()
	}
	for i := range r.closed {
		n += r.closed[i].size()
	}
	return n
}

func (f *closedFile) size() int64 {
	if f.state == nil {
		return 0
	}
	return f.state.Size()
}

func (r *rotation) wrote(what string) string {
	if r.limit == 0 {
		return r.recording.wrote(what)
	}
	var kept closedFiles
	var size int64
	first, last := "", ""
	for i := range r.closed {
		f := &r.closed[i]
		if ours, _ := f.there(); !ours { // nor if this cannot be said
			r.moved.add(f)
			continue
		}
		kept.add(f)
		size += f.size()
		first, last = cmp.Or(first, f.path), f.path
	}
	names := ""
	switch kept.files {
	case 0:
	case 1:
		names = ", " + first
	default:
		names = ", " + first + " to " + last
	}
	line := fmt.Sprintf("wrote %s%s: %s", output.Plural(kept.files, "file"), names, output.FileSize(size))
	if r.failed != nil { // how many are in the last file is not known
		line += ", a part of " + what + "; "
	} else {
		line += fmt.Sprintf("; %s; %s recorded = %s kept + ", what, output.Count(kept.records+r.removed.records+r.moved.records), output.Count(kept.records))
	}
	if r.removed.files > 0 {
		line += fmt.Sprintf("%s removed with %s + ", output.Count(r.removed.records), output.Plural(r.removed.files, "old file"))
	}
	if r.moved.files > 0 {
		line += fmt.Sprintf("%s in %s that this recording did not remove", output.Count(r.moved.records), output.Plural(r.moved.files, "missing file"))
	}
	line = strings.TrimRight(line, "+; ")
	if r.format.next != "" && kept.files > 0 {
		line += "; show them: uevents replay " + r.base + "*" + r.suffix
	}
	return line
}
