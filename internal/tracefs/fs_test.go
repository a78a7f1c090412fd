package tracefs_test

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

func TestEventNames(t *testing.T) {
	tfs := tracefs.At("/t")
	for name, want := range map[string]string{
		"one":                        "/t/events/user_events/one/id",
		"user_events_multi:one.1f":   "/t/events/user_events_multi/one.1f/id",
		"sched:sched_switch":         "/t/events/sched/sched_switch/id",
		"user_events:with:more:cuts": "/t/events/user_events/with:more:cuts/id",
	} {
		assert.Equal(t, want, tfs.Event(name).Path("id"))
	}
	e := tfs.Event("one")
	assert.Equal(t, "user_events:one", e.String())
	assert.Equal(t, "user_events", e.System())
	assert.Equal(t, "one", e.Name())
}

// TestNamesStayInside: no name leads to a file of another directory.
func TestNamesStayInside(t *testing.T) {
	tfs := newDir(t, map[string]string{"events/user_events/one/enable": "0", "events/enable": "0", "instances/own/trace": ""})
	for _, name := range []string{"", ".", "..", "../user_events/one", "a/b", "..:one", ":one", "one:", "x\x00"} {
		e := tfs.Event(name)
		assert.ErrorIs(t, e.Enable(), syscall.EINVAL, "%q", name)
		_, err := e.Exists()
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", name)
		_, err = e.FormatText()
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", name)
	}
	assert.Equal(t, "0", read(t, tfs, "events/enable"))
	for _, name := range []string{"", ".", "..", "../events", "a/b", "x\x00"} {
		_, err := tfs.NewInstance(name)
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", name)
		_, err = tfs.Instance(name)
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", name)
	}
}

// TestCommandsAreChecked: what the kernel would take for another command is refused before it is asked.
func TestCommandsAreChecked(t *testing.T) {
	const dir = "events/user_events/one/"
	tfs := newDir(t, map[string]string{dir + "filter": "none\n", dir + "trigger": "# Available triggers:\n"})
	e := tfs.Event("one")
	for _, filter := range []string{" ", "a > 1\nb > 2", "a\x00"} {
		assert.ErrorIs(t, e.SetFilter(filter), syscall.EINVAL, "%q", filter)
	}
	for _, trigger := range []string{"", " ", "!hist:keys=a", " !traceoff", "traceoff\ntraceon", "a\x00"} {
		assert.ErrorIs(t, e.AddTrigger(trigger), syscall.EINVAL, "%q", trigger)
		assert.ErrorIs(t, e.RemoveTrigger(trigger), syscall.EINVAL, "%q", trigger)
	}
	assert.Equal(t, "none\n", read(t, tfs, dir+"filter"))
	assert.Equal(t, "# Available triggers:\n", read(t, tfs, dir+"trigger"))
	filter, err := e.Filter()
	require.NoError(t, err)
	assert.Empty(t, filter)
	triggers, err := e.Triggers()
	require.NoError(t, err)
	assert.Empty(t, triggers)
	assert.ErrorIs(t, tfs.Event("two").SetFilter("a > 1"), fs.ErrNotExist)
}

// TestStaleErrorLog: an entry of error_log that an earlier command left is not attached to the error of another one with
// the same text.
func TestStaleErrorLog(t *testing.T) {
	const log = "[  100.000001] event filter parse error: error: Field not found\n  Command: nope == 1\n           ^\n"
	tfs := newDir(t, map[string]string{"error_log": log})
	for name, run := range map[string]func(string) error{
		"SetFilter": tfs.Event("gone").SetFilter, "AddTrigger": tfs.Event("gone").AddTrigger, "RemoveTrigger": tfs.Event("gone").RemoveTrigger,
	} {
		err := run("nope == 1")
		require.ErrorIs(t, err, fs.ErrNotExist, name)
		assert.NotContains(t, err.Error(), "Field not found", name)
	}
}

// TestFailedFilter: the kernel drops the filter that was set when it refuses another one, and prints the error in its place.
func TestFailedFilter(t *testing.T) {
	for _, text := range []string{"nope > 5\n     ^\nparse_error: Field not found\n", "none\n", ""} {
		tfs := newDir(t, map[string]string{"events/user_events/one/filter": text})
		filter, err := tfs.Event("one").Filter()
		require.NoError(t, err)
		assert.Empty(t, filter, "%q", text)
	}
}

func TestParseDynamicEvents(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string // declarations in command syntax
	}{
		{"nothing", "", nil},
		{"as the kernel lists them", "u:one u32 a; __rel_loc char[] b\nu:two\n", []string{"one u32 a; __rel_loc char[] b", "two"}},
		{"struct, array, unsigned", "u:e struct point p 8; unsigned char[4] c; unsigned int n\n", []string{"e struct point p 8; unsigned char[4] c; unsigned int n"}},
		{
			"other kinds of events",
			"p:kprobes/p_vfs_read vfs_read\nr4:kprobes/r_x vfs_read\np:uprobes/p_bin /bin/ls:0x1000\ns:latency u64 lat\ne:eprobes/e sched.sched_switch\nf:fprobes/f vfs_read\nu:one\nunknown\n",
			[]string{"one"},
		},
		{"comments and blank lines", "# u:no\n\n \t\nu:one # Used by ftrace\nu:two u32 a # Used by ftrace perf\n", []string{"one", "two u32 a"}},
		{"white space of a person", "  u:one   u32  a;u32 b ;\nu: two\n", []string{"one u32 a; u32 b", "two"}},
		{"no newline at the end", "u:one u32 a", []string{"one u32 a"}},
		{"a prefix and nothing", "u:\nu: \nu:#x\n", nil},
		{"several formats of a name", "u:one u32 a\nu:one u64 b\n", []string{"one u32 a", "one u64 b"}},
		{"what this library would not register", "u:bad-name u32 a\nu:one u32 a; long b; u32 c\n", []string{"bad-name u32 a", "one u32 a"}},
		{"commands to delete", "-:user_events/one\n!u:two\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			decls, err := tracefs.ParseDynamicEvents(strings.NewReader(c.text))
			require.NoError(t, err)
			var got []string
			for _, d := range decls {
				got = append(got, d.String())
			}
			assert.Equal(t, c.want, got)
		})
	}
	decls, err := tracefs.ParseDynamicEvents(strings.NewReader("u:e struct point p 8; __data_loc char[] s\n"))
	require.NoError(t, err)
	require.Len(t, decls, 1)
	assert.Equal(t, []tracepoint.Field{
		{Name: "p", Type: tracepoint.StructOf("point", 8)},
		{Name: "s", Type: tracepoint.Dynamic(tracepoint.Char)},
	}, decls[0].Fields)
	_, err = tracefs.ParseDynamicEvents(failingReader{})
	assert.ErrorIs(t, err, errReading)
}
