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
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
)

const self = "/proc/self"

func publish(t *testing.T, resource []Attribute) *Context {
	t.Helper()
	c, err := Publish(resource)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// TestPublish: each resource is what a reader gets, until the next one or the end. The collector of garbage leaves it alone.
func TestPublish(t *testing.T) {
	_, err := Read(self)
	require.ErrorIs(t, err, fs.ErrNotExist)
	c := publish(t, allTypes)
	for _, resource := range [][]Attribute{allTypes, nil, {{"n", strings.Repeat("long", 16000)}}, {{"n", "short"}}, {{"n", "short"}}} {
		at := layoutAt(c.mapping).publishedAt.Load()
		require.NoError(t, c.Update(resource))
		assert.Greater(t, layoutAt(c.mapping).publishedAt.Load(), at)
		runtime.GC()
		got, err := Read(self)
		require.NoError(t, err)
		assert.Equal(t, resource, got)
	}
	require.ErrorContains(t, c.Update([]Attribute{{"n", strings.Repeat("x", maxPayload)}}), "readers take 65536")
	got, err := Read(self)
	require.NoError(t, err)
	assert.Equal(t, []Attribute{{"n", "short"}}, got, "the one before")

	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.Update(nil), os.ErrClosed)
	_, err = Read(self)
	require.ErrorIs(t, err, fs.ErrNotExist)
	again := publish(t, nil)
	require.NoError(t, again.Close())
}

// TestPublishHeader: the header is that of OTEP 4719.
func TestPublishHeader(t *testing.T) {
	c := publish(t, allTypes)
	h := header(c.mapping)
	require.NoError(t, h.check())
	assert.Equal(t, layoutAt(c.mapping).publishedAt.Load(), h.publishedAt())
	assert.EqualValues(t, len(c.payload), h.payloadSize())
	assert.Equal(t, address(c.payload), h.payload())
	layoutAt(c.mapping).publishedAt.Store(1 << 62) // the clock does not go on
	require.NoError(t, c.Update(nil))
	assert.Equal(t, uint64(1<<62+1), layoutAt(c.mapping).publishedAt.Load())
}

// TestPublishOnce: a process has one context, also if several goroutines or libraries want one.
func TestPublishOnce(t *testing.T) {
	var all sync.WaitGroup
	contexts, errs := make([]*Context, 8), make([]error, 8)
	for i := range contexts {
		all.Go(func() { contexts[i], errs[i] = Publish([]Attribute{{"n", int64(i)}}) })
	}
	all.Wait()
	published := 0
	for i, c := range contexts {
		require.NotNil(t, c)
		if errs[i] == nil {
			published++
			got, err := Read(self)
			require.NoError(t, err)
			assert.Equal(t, []Attribute{{"n", int64(i)}}, got)
		} else {
			require.ErrorIs(t, errs[i], errPublished)
			require.ErrorIs(t, c.Update(nil), os.ErrClosed)
		}
	}
	assert.Equal(t, 1, published)
	for _, c := range contexts {
		require.NoError(t, c.Close())
	}
	c, err := Publish([]Attribute{{"n", strings.Repeat("x", maxPayload)}})
	require.ErrorContains(t, err, "readers take 65536")
	require.NoError(t, c.Close())
}

// TestUpdateWhileRead: a reader gets one resource or the other, and never parts of both.
func TestUpdateWhileRead(t *testing.T) {
	resources := [2][]Attribute{{{"n", strings.Repeat("a", 5000)}}, {{"n", "b"}, {"m", int64(1)}}}
	c := publish(t, resources[0])
	stop := make(chan bool)
	var all sync.WaitGroup
	all.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
				assert.NoError(t, c.Update(resources[i%2]))
			}
		}
	})
	for range testscale.CountConcurrent(500, 50) {
		got, err := Read(self)
		if err != nil {
			require.ErrorIs(t, err, errChanging)
			continue
		}
		require.Contains(t, resources, got)
	}
	close(stop)
	all.Wait()
}

// TestPublishAtFork: neither a forked child nor a program that it executes has the context of its parent.
func TestPublishAtFork(t *testing.T) {
	publish(t, allTypes)
	executed := start(t, "wait")
	_, err := Read(executed.dir())
	require.ErrorIs(t, err, fs.ErrNotExist)

	r, w, err := os.Pipe()
	require.NoError(t, err)
	pid, err := fork(r.Fd(), w.Fd())
	require.NoError(t, err)
	dir := fmt.Sprintf("/proc/%d", pid)
	maps, err := os.ReadFile(dir + "/maps")
	require.NoError(t, err)
	assert.Contains(t, string(maps), "[stack]", "it has the memory of its parent")
	assert.NotContains(t, string(maps), name)
	_, err = Read(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, w.Close())
	require.NoError(t, r.Close())
	p, err := os.FindProcess(pid)
	require.NoError(t, err)
	state, err := p.Wait()
	require.NoError(t, err)
	assert.True(t, state.Success())
}

// TestUpdateUnmaps: an update leaves nothing of the resource before.
func TestUpdateUnmaps(t *testing.T) {
	c := publish(t, nil)
	size := func() (pages int) {
		text, err := os.ReadFile("/proc/self/statm")
		require.NoError(t, err)
		_, err = fmt.Sscan(string(text), &pages)
		require.NoError(t, err)
		return pages
	}
	before := size()
	for range 5000 {
		require.NoError(t, c.Update([]Attribute{{"n", strings.Repeat("x", 60_000)}}))
	}
	assert.Less(t, (size()-before)*os.Getpagesize(), 150<<20, "of 300 MB")
}

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
		must(0, syscall.Setuid(65534))
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
	testscale.NeedRoot(t, "to become another user")
	publish(t, allTypes)
	assert.Regexp(t, "^true open.* permission denied", start(t, "nobody").out.Text())
}

// TestPublishWithoutFiles: a limit of the size of files is no reason for a signal. Kernels without names of mappings leave no way then.
func TestPublishWithoutFiles(t *testing.T) {
	c := start(t, "no files")
	if said := c.out.Text(); said != "<nil>" {
		assert.Regexp(t, "^no reader can find a process context without a name: RLIMIT_FSIZE is 0 bytes; prctl: ", said)
	}
}

// fork forks the process. The child exits once the parent has closed both ends of a pipe.
func fork(r, w uintptr) (pid int, err error) {
	flags := [2]uintptr{uintptr(syscall.SIGCHLD), 0}
	if runtime.GOARCH == "s390x" {
		flags[0], flags[1] = flags[1], flags[0]
	}
	child, errno := forkWaiting(r, w, flags)
	if errno != 0 {
		return 0, errno
	}
	return int(child), nil
}

// forkWaiting consists of raw system calls: the child has one thread of a Go program.
//
//go:norace
//go:nosplit
func forkWaiting(r, w uintptr, flags [2]uintptr) (uintptr, syscall.Errno) {
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, flags[0], flags[1], 0, 0, 0, 0)
	if pid != 0 || errno != 0 {
		return pid, errno
	}
	syscall.RawSyscall(syscall.SYS_CLOSE, w, 0, 0)
	syscall.RawSyscall(syscall.SYS_READ, r, 0, 1) // until the end of the pipe
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	return 0, 0 // not reached
}
