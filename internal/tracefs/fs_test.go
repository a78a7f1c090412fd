package tracefs_test

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
)

// newDir returns a directory with files as a tracefs has them, but without a kernel behind:
// what is written is what can be read.
func newDir(t *testing.T, files map[string]string) *tracefs.Dir {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return tracefs.At(filepath.ToSlash(dir))
}

func read(t *testing.T, tfs *tracefs.Dir, file string) string {
	t.Helper()
	b, err := os.ReadFile(tfs.Path(file))
	require.NoError(t, err)
	return string(b)
}

func parse(t *testing.T, command string) tracepoint.Declaration {
	t.Helper()
	d, err := tracepoint.Parse(command)
	require.NoError(t, err)
	return d
}

const otherKinds = "p:kprobes/p_vfs_read vfs_read\n"

func TestPaths(t *testing.T) {
	tfs := tracefs.At("/t")
	assert.Equal(t, "/t", tfs.Path())
	assert.Equal(t, "/t/user_events_data", tfs.Path(tracefs.DataFile))
	assert.Equal(t, "/t", tfs.Path())
	assert.Equal(t, "/t/events/user_events/x/enable", tfs.Event("x").Path("enable"))
}

// TestNoTracefs: every method says that there is none.
func TestNoTracefs(t *testing.T) {
	tfs := newDir(t, nil)
	d := parse(t, "one u32 a")
	for name, f := range map[string]func() error{
		"Status":       func() error { _, err := tfs.Status(); return err },
		"Declarations": func() error { _, err := tfs.Declarations(); return err },
		"Create":       func() error { return tfs.Create(d) },
		"Remove":       func() error { return tfs.Remove(d.Name) },
		"Save":         func() error { return tfs.Save(&bytes.Buffer{}) },
		"Restore":      func() error { return tfs.Restore(strings.NewReader("u:one u32 a\n")) },
		"Exists":       func() error { _, err := tfs.Event(d.Name).Exists(); return err },
		"Enable":       func() error { return tfs.Event(d.Name).Enable() },
		"Format":       func() error { _, err := tfs.Event(d.Name).FormatText(); return err },
	} {
		err := f()
		assert.ErrorIs(t, err, fs.ErrNotExist, name)
		assert.ErrorContains(t, err, tfs.Path(), name)
	}
}

// TestNoEvent: the error says how to get the event.
func TestNoEvent(t *testing.T) {
	tfs := newDir(t, map[string]string{"events/sched/enable": "0"})
	err := tfs.Event("one").Enable()
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "start a program that registers it")
	_, err = tfs.Event("sched:one").Format()
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.NotContains(t, err.Error(), "start a program", "no program registers those of the kernel")
}

func TestCreateAppends(t *testing.T) {
	tfs := newDir(t, map[string]string{"dynamic_events": otherKinds})
	require.NoError(t, tfs.Create(parse(t, "one u32 a; __rel_loc char[] b")))
	require.NoError(t, tfs.Create(parse(t, "two")))
	assert.Equal(t, otherKinds+"u:one u32 a; __rel_loc char[] b\nu:two\n", read(t, tfs, "dynamic_events"))
	assert.ErrorIs(t, tfs.Create(tracepoint.Declaration{Name: "no/name"}), tracepoint.ErrInvalid)
}

func TestRemoveByFields(t *testing.T) {
	const listed = otherKinds + "u:one u32 a; struct point p 8\nu:two\nu:one u64 a\nu:bad-name long x\n"
	for _, c := range []struct{ name, commands string }{
		{"two", "-:user_events/two\n"},
		{"one", "-:user_events/one u32 a; struct point p 8\n-:user_events/one u64 a\n"}, // both formats
		{"bad-name", "-:user_events/bad-name long x\n"},                                 // in the kernel's words
	} {
		tfs := newDir(t, map[string]string{"dynamic_events": listed})
		require.NoError(t, tfs.Remove(c.name))
		assert.Equal(t, listed+c.commands, read(t, tfs, "dynamic_events"))
	}
	tfs := newDir(t, map[string]string{"dynamic_events": listed})
	for _, name := range []string{"on", "p_vfs_read", "", "one u64 a"} {
		assert.ErrorIs(t, tfs.Remove(name), fs.ErrNotExist, name)
	}
	assert.Equal(t, listed, read(t, tfs, "dynamic_events"))
}

func TestSaveText(t *testing.T) {
	format := func(name, fields string) string {
		return "name: " + name + "\nID: 1200\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n" + fields + "\nprint fmt: \"\"\n"
	}
	const u32a = "\tfield:u32 a;\toffset:8;\tsize:4;\tsigned:0;\n"
	for _, c := range []struct {
		name, listed string
		files        map[string]string
		want         string
	}{
		{"nothing", otherKinds, nil, ""},
		{
			"in the kernel's words and order", otherKinds + "u:two long x\nu:bad-name  u8 a\n",
			map[string]string{"events/user_events/two/format": "", "events/user_events/bad-name/format": ""},
			"u:two long x\nu:bad-name  u8 a\n",
		},
		{
			"an event of the multi-format system only", "u:one u32 a\nu:one u64 a\nu:two\n",
			map[string]string{"events/user_events/two/format": "", "events/user_events_multi/one.0/format": ""},
			"u:two\n",
		},
		{
			"a name in both systems", "u:one u64 a\nu:one u32 a\nu:one\n",
			map[string]string{"events/user_events/one/format": format("one", u32a)},
			"u:one u32 a\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"dynamic_events": c.listed}
			maps.Copy(files, c.files)
			var saved bytes.Buffer
			require.NoError(t, newDir(t, files).Save(&saved))
			assert.Equal(t, c.want, saved.String())
		})
	}

	undecided := newDir(t, map[string]string{"dynamic_events": "u:one u64 a\nu:one u32 a\n", "events/user_events/one/format": "what is this"})
	assert.ErrorIs(t, undecided.Save(&bytes.Buffer{}), tracepoint.ErrInvalid)
	foreign := newDir(t, map[string]string{"dynamic_events": "u:b-d u64 a\nu:b-d u32 a\n", "events/user_events/b-d/format": format("b-d", u32a)})
	assert.ErrorContains(t, foreign.Save(&bytes.Buffer{}), "b-d", "which format it has cannot be told")
	tfs := newDir(t, map[string]string{"dynamic_events": "u:one\n", "events/user_events/one/format": ""})
	assert.ErrorIs(t, tfs.Save(failingWriter{}), errReading)
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errReading }

func TestRestoreText(t *testing.T) {
	tfs := newDir(t, map[string]string{"dynamic_events": otherKinds})
	const saved = "# my events\n" + otherKinds + "u:one u32 a # Used by ftrace\nu:bad-name  u8 a\n-:user_events/one\n"
	require.NoError(t, tfs.Restore(strings.NewReader(saved)))
	assert.Equal(t, otherKinds+"u:one u32 a\nu:bad-name  u8 a\n", read(t, tfs, "dynamic_events"), "nothing but user events, and nothing is deleted")
	assert.ErrorIs(t, tfs.Restore(failingReader{}), errReading)
}

func TestExists(t *testing.T) {
	tfs := newDir(t, map[string]string{"events/user_events/one/format": "x"})
	for name, want := range map[string]bool{"one": true, "two": false} {
		got, err := tfs.Event(name).Exists()
		require.NoError(t, err)
		assert.Equal(t, want, got, name)
	}
}

func TestEnableWrites(t *testing.T) {
	tfs := newDir(t, map[string]string{"events/user_events/one/enable": "", "events/user_events/one/format": "x"})
	one := tfs.Event("one")
	require.NoError(t, one.Enable())
	assert.Equal(t, "1", read(t, tfs, "events/user_events/one/enable"))
	require.NoError(t, one.Disable())
	assert.Equal(t, "0", read(t, tfs, "events/user_events/one/enable"))
	text, err := one.FormatText()
	require.NoError(t, err)
	assert.Equal(t, "x", text)
}
