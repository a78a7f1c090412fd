package processcontext

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/sys"
)

func init() {
	tasks["wait"] = wait
	tasks["publish"] = func() {
		c := must(Publish([]Attribute{{"pid", int64(os.Getpid())}}))
		wait()
		must(0, c.Update([]Attribute{{"n", "updated"}}))
		wait()
		must(0, c.Close())
		wait()
	}
	tasks["foreign"] = func() {
		at, b := foreign(0x100, len(protoc))
		copy(b[0x100:], protoc)
		wait()
		binary.NativeEndian.PutUint64(b[24:], at+0x200) // an address without a payload
		wait()
		binary.NativeEndian.PutUint64(b[24:], 8) // an address that is not mapped
		wait()
	}
	tasks["no page"] = func() { // whose file has ended
		_, b := foreign(2<<16, len(protoc))
		wait()
		runtime.KeepAlive(b)
	}
	tasks["endless"] = func() {
		_, b := foreign(0x100, len(protoc))
		copy(b[0x100:], protoc)
		go wait()
		for n := uint64(2); ; n++ {
			binary.NativeEndian.PutUint64(b[16:], n)
		}
	}
	tasks["no files"] = func() {
		must(0, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 0, Max: 0}))
		_, err := Publish(nil)
		fmt.Println(err)
	}
	tasks["nobody"] = func() {
		if os.Getuid() == 0 {
			must(0, syscall.Setuid(65534))
		}
		_, err := Read(fmt.Sprintf("/proc/%d", os.Getppid()))
		fmt.Println(errors.Is(err, fs.ErrPermission), err)
	}
}

// foreign publishes as another library would, by the offsets of OTEP 4719: the payload is behind the header.
func foreign(payload uint64, size int) (at uint64, mapping []byte) {
	fd := must(sys.CreateMemory("OTEL_CTX", 4096, 0o600))
	b := must(sys.MapPrivate(fd, 3<<16))
	must(0, sys.Close(fd))
	for line := range strings.Lines(string(must(os.ReadFile("/proc/self/maps")))) {
		if strings.Contains(line, "OTEL_CTX") {
			first, _, _ := strings.Cut(line, "-")
			at = must(strconv.ParseUint(first, 16, 64))
		}
	}
	copy(b, "OTEL_CTX")
	binary.NativeEndian.PutUint32(b[8:], 2)
	binary.NativeEndian.PutUint32(b[12:], uint32(size))
	binary.NativeEndian.PutUint64(b[24:], at+payload)
	binary.NativeEndian.PutUint64(b[16:], 1)
	return at, b
}

// wait says that a step is done, and waits until the parent wants the next one.
func wait() {
	fmt.Println("ready")
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		os.Exit(0)
	}
}

// child is a process that does a task.
type child struct {
	*exec.Cmd

	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

func start(t *testing.T, task string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command("/proc/self/exe"), t: t}
	c.Env = append(os.Environ(), envTask+"="+task)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	c.in, c.out = in, bufio.NewScanner(out)
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		_ = c.Wait()
	})
	require.True(t, c.out.Scan())
	return c
}

func (c *child) dir() string { return fmt.Sprintf("/proc/%d", c.Process.Pid) }

// next lets the child do its next step.
func (c *child) next() {
	c.t.Helper()
	_, err := c.in.Write([]byte{'\n'})
	require.NoError(c.t, err)
	require.True(c.t, c.out.Scan())
}

// TestReadChild reads what another process publishes.
func TestReadChild(t *testing.T) {
	c := start(t, "publish")
	got, err := Read(c.dir())
	require.NoError(t, err)
	assert.Equal(t, []Attribute{{"pid", int64(c.Process.Pid)}}, got)
	c.next()
	got, err = Read(c.dir())
	require.NoError(t, err)
	assert.Equal(t, []Attribute{{"n", "updated"}}, got)
	c.next()
	_, err = Read(c.dir())
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestReadForeign reads what does not come from this package, from processes that do as they like.
func TestReadForeign(t *testing.T) {
	c := start(t, "foreign")
	got, err := Read(c.dir())
	require.NoError(t, err)
	assert.Equal(t, allTypes, got)
	c.next()
	_, err = Read(c.dir())
	require.ErrorIs(t, err, errMalformed)
	c.next()
	_, err = Read(c.dir())
	require.ErrorIs(t, err, syscall.EIO)

	_, err = Read(start(t, "no page").dir())
	require.ErrorIs(t, err, syscall.EIO)

	got, err = Read(start(t, "endless").dir())
	if err != nil { // or it stood still for the time of three system calls
		require.ErrorIs(t, err, errChanging)
		require.Nil(t, got)
	}
}

// TestReadExited: what is not there any more is an error.
func TestReadExited(t *testing.T) {
	c := start(t, "publish")
	require.NoError(t, c.Process.Kill())
	require.Error(t, c.Wait())
	_, err := Read(c.dir())
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestReadRefused: a process of another user is read by the root user alone.
func TestReadRefused(t *testing.T) {
	publish(t, allTypes)
	c := start(t, "nobody")
	if os.Getuid() == 0 {
		assert.Regexp(t, "^true open.* permission denied", c.out.Text())
	}
}

// TestPublishWithoutFiles: a limit of the size of files is no reason for a signal. Kernels without names of mappings leave no way then.
func TestPublishWithoutFiles(t *testing.T) {
	c := start(t, "no files")
	if said := c.out.Text(); said != "<nil>" {
		assert.Regexp(t, "^no reader can find a process context without a name: RLIMIT_FSIZE is 0 bytes; prctl: ", said)
	}
}
