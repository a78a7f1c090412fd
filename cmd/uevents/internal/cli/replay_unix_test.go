//go:build unix

package cli

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/syncbuffer"
)

// TestReplayPipe: FILE can be a pipe, as <(COMMAND) of a shell is. The formats that need a file say so.
func TestReplayPipe(t *testing.T) {
	for content, wants := range map[string]struct {
		code           int
		stdout, stderr string
	}{
		`{"message":"one","kind":"log"}` + "\n" + `{"message":"two","kind":"log"}` + "\n": {exitOK, "one\ntwo\n", ""},
		"": {exitOK, "", "no records\n"},
		"PERFILE2\x68\x00\x00\x00\x00\x00\x00\x00": {exitError, "", "a finished perf.data is read at several places, which a pipe does not permit: give the name of the file"},
	} {
		for _, path := range []string{filepath.Join(t.TempDir(), "pipe"), "-"} {
			var out, errs syncbuffer.Buffer
			e := (&feed{}).env(t, &out, &errs)
			if path == "-" {
				e.in = strings.NewReader(content)
			} else {
				require.NoError(t, syscall.Mkfifo(path, 0o600))
				go func() { assert.NoError(t, os.WriteFile(path, []byte(content), 0)) }()
			}
			assert.Equal(t, wants.code, run(t.Context(), e, []string{"replay", path, "-f", "message"}), "%s: %s", path, &errs)
			assert.Equal(t, wants.stdout, out.String())
			if wants.stderr == "" {
				assert.Empty(t, errs.String())
			} else {
				assert.Contains(t, errs.String(), wants.stderr)
			}
		}
	}
}

// TestReplayCompressed: a compressed recording is not read as lines.
func TestReplayCompressed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl.gz")
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte("{}\n"))
	require.NoError(t, errors.Join(err, w.Close(), os.WriteFile(path, b.Bytes(), 0o600)))
	code, out, errs := newFeed().run(t, "replay", path)
	assert.Equal(t, exitError, code)
	assert.Empty(t, out)
	assert.Equal(t, "uevents: "+path+": the file is compressed\n  -> zcat FILE | uevents replay -\n", errs)
}
