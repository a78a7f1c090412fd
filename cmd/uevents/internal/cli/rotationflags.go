package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
)

// rotationFlags limit the files of a recording.
type rotationFlags struct {
	maxSize  string
	maxFiles int

	size int64 // of maxSize, by check
}

// rotationHelp is the part on these flags in the help of record.
const rotationHelp = `With --max-size, the recording has several files: one that has this SIZE is closed after the
record that filled it, and the next record begins another one. FILE itself is not written: the
time at which a file begins comes before the end of its name, in UTC, as in
myapp-20261127T031200.000Z.jsonl. Names of newer files sort behind those of older ones. Each
file can be read alone, and uevents replay reads all: myapp-*.jsonl. With --max-files, record
removes its oldest file when there are more. It replaces and removes no other file: those of
earlier recordings stay, and are not counted.`

// leastFile is the smallest --max-size: a record has up to 64 KiB.
const leastFile = 64 << 10

// add adds the flags.
func (f *rotationFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.maxSize, "max-size", "", "begin another file when one has this `SIZE`, such as 64M; at least 64K")
	flags.IntVar(&f.maxFiles, "max-files", 0, "keep the newest `N` files of --max-size, and remove older ones; 0 keeps all")
}

// rotates reports whether the recording has several files.
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
	if !format.parts {
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
