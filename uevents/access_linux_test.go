package uevents_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// What the test binary does when it runs as the child of another: see TestChild.
const (
	childEvent = "UEVENTS_TEST_EVENT" // the event to register
	childSetup = "UEVENTS_TEST_SETUP" // what to do with mounts before
)

// nobody is an unprivileged user and group.
const nobody = 65534

// TestChild is not a test: it is the program that other tests run with fewer
// rights. It prints "ok" when its event is registered, waits until somebody traces it,
// writes one record and prints "wrote"; or it prints why it could not.
func TestChild(t *testing.T) {
	name := os.Getenv(childEvent)
	if name == "" {
		return
	}
	require.NoError(t, setups[os.Getenv(childSetup)]())
	var o uevents.Options
	if os.Getenv(childSetup) == "descriptor" {
		o.File = os.NewFile(3, "user_events_data")
	}
	p, err := uevents.Open(&o)
	if err != nil {
		fmt.Printf("\nchild: permission=%t unsupported=%t %v\n", errors.Is(err, fs.ErrPermission), errors.Is(err, uevents.ErrNotSupported), err)
		return
	}
	ev := mustRegister(t, p, name, nil)
	fmt.Println("\nchild: ok")
	require.Eventually(t, ev.Enabled, eventually, time.Millisecond)
	require.NoError(t, ev.Write(buffer("from the child")))
	fmt.Println("\nchild: wrote")
	require.NoError(t, p.Close())
}

var setups = map[string]func() error{
	"":           func() error { return nil },
	"descriptor": func() error { return nil },
	"read-only": func() error {
		// debugfs has a second way to the file.
		return errors.Join(private(), unmount("/sys/kernel/debug/tracing", "/sys/kernel/debug"), syscall.Mount("", tracefs.DefaultDir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""))
	},
	"unmounted": func() error { return errors.Join(private(), unmountAll()) },
	// A container that has one file and nothing else.
	"projected": func() error {
		file := os.Getenv(uevents.EnvDataFile)
		return errors.Join(private(), os.WriteFile(file, nil, 0o600),
			syscall.Mount(tracefs.DefaultDir+"/"+tracefs.DataFile, file, "", syscall.MS_BIND, ""), unmountAll())
	},
}

// private keeps what is mounted from now on in this namespace.
func private() error { return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") }

func unmountAll() error {
	return unmount("/sys/kernel/debug/tracing", "/sys/kernel/debug", tracefs.DefaultDir)
}

func unmount(dirs ...string) error {
	var errs []error
	for _, dir := range dirs {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
			errs = append(errs, err) // EINVAL: not mounted
		}
	}
	return errors.Join(errs...)
}

// child is a running TestChild.
type child struct {
	t     *testing.T
	event string
	cmd   *exec.Cmd
	out   *bufio.Scanner
}

type childOptions struct {
	setup        string
	unprivileged bool
	env          []string
	files        []*os.File
}

func startChild(t *testing.T, o childOptions) *child {
	t.Helper()
	// Where this binary is, nobody may not go.
	dir, err := os.MkdirTemp("/tmp", "uevents")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	exe := filepath.Join(dir, "child")
	copyFile(t, exe)

	c := &child{t: t, event: newName() + "_child", cmd: exec.Command(exe, "-test.run=^TestChild$")}
	c.cmd.Dir = dir
	c.cmd.Env = append(append(os.Environ(), childEvent+"="+c.event, childSetup+"="+o.setup), o.env...)
	c.cmd.ExtraFiles = o.files
	c.cmd.SysProcAttr = &syscall.SysProcAttr{}
	if o.unprivileged {
		c.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody, Groups: []uint32{nobody}}
	} else {
		c.cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	}
	c.cmd.Stderr = os.Stderr
	stdout, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.out = bufio.NewScanner(stdout)
	require.NoError(t, c.cmd.Start())
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	})
	return c
}

func copyFile(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	src, err := os.Open(self)
	require.NoError(t, err)
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(dst, src)
	require.NoError(t, errors.Join(err, dst.Close()))
}

// says returns what the child says next.
func (c *child) says() string {
	c.t.Helper()
	for c.out.Scan() {
		if text, ok := strings.CutPrefix(c.out.Text(), "child: "); ok {
			return text
		}
	}
	require.Fail(c.t, "the child said nothing")
	return ""
}

// mustWork attaches to the child's event and expects its record.
func (c *child) mustWork(fs *tracefs.FS) {
	c.t.Helper()
	require.Equal(c.t, "ok", c.says())
	i := kerneltest.NewInstance(c.t, fs, 64)
	i.Attach(c.event)
	require.Equal(c.t, "wrote", c.says())
	records := i.Records()
	require.Len(c.t, records, 1)
	assert.Equal(c.t, "from the child", strings.TrimRight(string(records[0].Payload), "\x00"))
	i.Detach()
}

// mustFail expects an error with these texts.
func (c *child) mustFail(texts ...string) {
	c.t.Helper()
	said := c.says()
	for _, text := range texts {
		assert.Contains(c.t, said, text)
	}
}

// change changes mode and group of a file for the duration of the test.
func change(t *testing.T, path string, gid int, set os.FileMode) {
	t.Helper()
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Chown(path, -1, gid))
	require.NoError(t, os.Chmod(path, st.Mode().Perm()|set))
	t.Cleanup(func() {
		assert.NoError(t, os.Chmod(path, st.Mode().Perm()))
		assert.NoError(t, os.Chown(path, -1, int(st.Sys().(*syscall.Stat_t).Gid)))
	})
}

func oldKernel(t *testing.T) bool {
	return uevents.Probe(nil).ABI != uevents.ABIEnableAddress
}

// TestUnprivileged follows the advice of the errors, step by step.
func TestUnprivileged(t *testing.T) {
	fs := kerneltest.Require(t)
	startChild(t, childOptions{unprivileged: true}).mustFail("permission=true", "unsupported=false", "may not be searched", "chmod g+x "+fs.Dir())

	change(t, fs.Dir(), nobody, 0o010)
	startChild(t, childOptions{unprivileged: true}).mustFail("permission=true", "may not write it", "chmod g+w "+fs.Path(tracefs.DataFile))

	change(t, fs.Path(tracefs.DataFile), nobody, 0o020) // write, not read
	if oldKernel(t) {
		startChild(t, childOptions{unprivileged: true}).mustFail("permission=true", tracefs.StatusFile, "must be readable")
		change(t, fs.Path(tracefs.StatusFile), nobody, 0o040)
	}
	startChild(t, childOptions{unprivileged: true}).mustWork(fs)
}

// TestDescriptor hands an open file to a process that may not even see tracefs.
func TestDescriptor(t *testing.T) {
	fs := kerneltest.Require(t)
	f, err := os.OpenFile(fs.Path(tracefs.DataFile), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	c := startChild(t, childOptions{setup: "descriptor", unprivileged: true, files: []*os.File{f}})
	if oldKernel(t) {
		c.mustFail("permission=true", tracefs.StatusFile, "must be readable")
		return
	}
	c.mustWork(fs)

	p, err := uevents.Open(&uevents.Options{File: f})
	require.NoError(t, err)
	require.NoError(t, f.Close(), "the provider has its own")
	mustRegister(t, p, newName(), nil)
	assert.NoError(t, p.Close())
}

func TestMounts(t *testing.T) {
	fs := kerneltest.Require(t)
	startChild(t, childOptions{setup: "read-only"}).mustFail("read-only", "remount,rw")
	startChild(t, childOptions{setup: "unmounted"}).mustFail("unsupported=false", "not mounted", "mount -t tracefs")

	file := filepath.Join(t.TempDir(), "data")
	c := startChild(t, childOptions{setup: "projected", env: []string{uevents.EnvDataFile + "=" + file}})
	if oldKernel(t) {
		c.mustFail(tracefs.StatusFile, "must be readable")
		return
	}
	c.mustWork(fs)
}

func TestPaths(t *testing.T) {
	fs := kerneltest.Require(t)
	for _, path := range []string{fs.Dir(), fs.Path(tracefs.DataFile)} {
		p, err := uevents.Open(&uevents.Options{Path: path})
		require.NoError(t, err)
		mustRegister(t, p, newName(), nil)
		require.NoError(t, p.Close())
	}
	_, err := uevents.Open(&uevents.Options{Path: fs.Path("trace_marker")})
	assert.ErrorContains(t, err, "not a user_events_data")
	assert.ErrorIs(t, err, syscall.ENOTTY)
	t.Setenv(uevents.EnvDataFile, "/nonexistent")
	_, err = uevents.Open(nil)
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.NotErrorIs(t, err, uevents.ErrNotSupported, "the file may be elsewhere")
	p, err := uevents.Open(&uevents.Options{Path: fs.Dir()})
	require.NoError(t, err, "options come first")
	require.NoError(t, p.Close())
}

func TestProbe(t *testing.T) {
	kerneltest.Require(t)
	before := entries("/proc/self/fd")
	for range 10 {
		r := uevents.Probe(nil)
		require.NoError(t, r.Err)
		assert.Equal(t, "/sys/kernel/tracing/user_events_data", r.DataFile)
		assert.Contains(t, r.String(), "user_events: supported ("+r.ABI.String())
		assert.Contains(t, r.String(), "CONFIG_USER_EVENTS=y (/proc/config.gz)")
	}
	assert.LessOrEqual(t, entries("/proc/self/fd"), before+keptDescriptors)
	r := uevents.Probe(&uevents.Options{Path: "/nonexistent"})
	assert.Error(t, r.Err)
	assert.Contains(t, r.String(), "/nonexistent")
}
