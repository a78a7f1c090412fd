package uevents

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/abi"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/uevents/internal/machine"
)

// pass sets the variables as systemd does for a process that gets one descriptor by a name, and others before it.
func pass(t *testing.T, fd int, name string) {
	t.Helper()
	t.Setenv(EnvDataFile, "")
	t.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))
	t.Setenv("LISTEN_FDS", strconv.Itoa(fd-firstPassed+1))
	t.Setenv("LISTEN_FDNAMES", strings.Repeat("http:", fd-firstPassed)+name)
}

// TestPassedDescriptor: only variables that were set for this process count, and only names of this library.
func TestPassedDescriptor(t *testing.T) {
	for _, c := range []struct {
		name, pid, fds, names string
		want                  int // 0: none
	}{
		{"nothing", "", "", "", 0},
		{"the only one", "7", "1", "user_events", 3},
		{"by the file's name", "7", "1", "user_events_data", 3},
		{"after sockets", "7", "3", "http:unknown:user_events", 5},
		{"the first of two", "7", "2", "user_events:user_events", 3},
		{"graceful, without the file", "7", "1", "http", 0},
		{"for the parent", "6", "1", "user_events", 0},
		{"without names", "7", "1", "", 0},
		{"more names than descriptors", "7", "1", "http:user_events", 0},
		{"no descriptors", "7", "0", "user_events", 0},
		{"negative", "7", "-1", "user_events", 0},
		{"no number", "7", "one", "user_events", 0},
		{"no number of a process", "seven", "1", "user_events", 0},
	} {
		env := map[string]string{"LISTEN_PID": c.pid, "LISTEN_FDS": c.fds, "LISTEN_FDNAMES": c.names}
		fd, name, ok := passedDescriptor(func(name string) string { return env[name] }, 7)
		assert.Equal(t, c.want, fd, c.name)
		assert.Equal(t, c.want != 0, ok, c.name)
		assert.Equal(t, ok, name != "", c.name)
	}
}

// TestPassedInvalid: a descriptor that is no user_events_data is an error that names it. It stays open.
func TestPassedInvalid(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer null.Close()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	defer r.Close()
	closed, err := os.Open(os.DevNull)
	require.NoError(t, err)
	number := int(closed.Fd())
	require.NoError(t, closed.Close())
	for _, c := range []struct {
		fd   int
		is   error
		text string
	}{
		{int(null.Fd()), syscall.ENOTTY, "not a user_events_data"},
		{int(r.Fd()), nil, "not open for writing"},
		{number, syscall.EBADF, "it was closed after the program's start"},
	} {
		pass(t, c.fd, "user_events")
		p, err := Open(nil)
		require.ErrorContains(t, err, "open descriptor "+strconv.Itoa(c.fd)+" (user_events of LISTEN_FDNAMES)")
		assert.ErrorContains(t, err, c.text)
		assert.NotErrorIs(t, err, ErrNotSupported)
		assert.NotErrorIs(t, err, fs.ErrPermission)
		if c.is != nil {
			assert.ErrorIs(t, err, c.is)
		}
		assert.NoError(t, p.Close())
		assert.EqualError(t, Probe(nil).Err, err.Error())
	}
	_, err = null.Stat()
	assert.NoError(t, err)

	// Options and environment come first.
	t.Setenv(EnvDataFile, "/nonexistent")
	_, err = Open(nil)
	assert.ErrorContains(t, err, "open /nonexistent")
	_, err = Open(&Options{File: w})
	assert.ErrorContains(t, err, "open |1")
}

func TestMostTelling(t *testing.T) {
	absent, denied := fmt.Errorf("a: %w", syscall.ENOENT), fmt.Errorf("b: %w", syscall.EACCES)
	status := fmt.Errorf("c: %w", &abi.StatusError{Path: "s", Err: syscall.ENOENT})
	unsupported := fmt.Errorf("d: %w", ErrNotSupported)
	for _, c := range []struct {
		errs []error
		want error
	}{
		{[]error{absent}, absent},
		{[]error{absent, denied}, denied},
		{[]error{absent, unsupported}, absent},
		{[]error{unsupported, absent, status, denied}, status},
		{[]error{denied, status}, denied},
	} {
		assert.Equal(t, c.want, mostTelling(c.errs), "%v", c.errs)
	}
}

// TestRemedyNamesVariable: the advice names the environment variable that Open looks at.
func TestRemedyNamesVariable(t *testing.T) {
	assert.Equal(t, EnvDataFile, machine.EnvDataFile)
}

func TestExplicitPath(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return dir + "/" + name }
	require.NoError(t, os.WriteFile(in("file"), nil, 0o600))
	for _, c := range []struct {
		name, env string
		o         *Options
		want      string
	}{
		{"nothing", "", nil, ""},
		{"empty options", "", &Options{}, ""},
		{"options: a file", "", &Options{Path: in("file")}, in("file")},
		{"options: a directory", "", &Options{Path: dir}, in(tracefs.DataFile)},
		{"options: not there", "", &Options{Path: in("none")}, in("none")},
		{"environment: a file", in("file"), nil, in("file")},
		{"environment: a directory", dir, &Options{}, in(tracefs.DataFile)},
		{"options come first", in("file"), &Options{Path: dir}, in(tracefs.DataFile)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(EnvDataFile, c.env)
			assert.Equal(t, c.want, explicitPath(c.o))
		})
	}
}
