package sys

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestRequests compares with what a C compiler makes of include/uapi/linux/user_events.h.
func TestRequests(t *testing.T) {
	type requests struct{ reg, del, unreg uint64 }
	want := requests{0xc0082a00, 0x40082a01, 0x40082a02}
	if unsafe.Sizeof(uintptr(0)) == 4 {
		want = requests{0xc0042a00, 0x40042a01, 0x40042a02}
	}
	switch runtime.GOARCH {
	case "mips", "mipsle", "mips64", "mips64le", "ppc64", "ppc64le", "sparc64":
		want.del += 0x40000000 // writing is another bit
		want.unreg += 0x40000000
	}
	assert.Equal(t, want, requests{uint64(IocReg), uint64(IocDel), uint64(IocUnreg)})
}

// pipe returns the descriptors of a pipe that never blocks. The test closes them.
func pipe(t *testing.T) (r, w int) {
	t.Helper()
	var p [2]int
	require.NoError(t, unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK))
	t.Cleanup(func() {
		_, _ = Close(p[0]), Close(p[1]) // tests close some of them
	})
	return p[0], p[1]
}

func closedOnExec(t *testing.T, fd int) bool {
	t.Helper()
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	require.NoError(t, err)
	return flags&unix.FD_CLOEXEC != 0
}

// TestWrite: every write is at offset 0, wherever the file's position is.
func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("......"), 0o600))
	w, err := OpenWriteOnly(path)
	require.NoError(t, err)
	defer func() { assert.NoError(t, Close(w)) }()
	require.NoError(t, Write(w, []byte("abcd")))
	require.NoError(t, Write(w, []byte("AB")))
	require.NoError(t, Write(w, nil))
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "ABcd..", string(got))
	r, err := Open(path)
	require.NoError(t, err)
	defer func() { assert.NoError(t, r.Close()) }()
	assert.Equal(t, unix.EBADF, Write(int(r.Fd()), []byte("x")))
	assert.Equal(t, unix.EBADF, Write(-1, []byte("x")))
	pipeEnd, _ := pipe(t)
	assert.Equal(t, unix.ESPIPE, Write(pipeEnd, []byte("x")), "errnos are the kernel's")
	memory, err := MapAnonymous(os.Getpagesize())
	require.NoError(t, err)
	require.NoError(t, unix.Mprotect(memory, unix.PROT_NONE))
	assert.Equal(t, unix.EFAULT, Write(w, memory[:1]))
}

func TestDup(t *testing.T) {
	r, w := pipe(t)
	d, err := Dup(w)
	require.NoError(t, err)
	assert.NotEqual(t, w, d)
	assert.True(t, closedOnExec(t, d))
	_, err = unix.FcntlInt(uintptr(w), unix.F_SETFD, 0)
	require.NoError(t, err)
	CloseOnExec(w)
	assert.True(t, closedOnExec(t, w))
	require.NoError(t, Close(w))
	_, err = unix.Write(d, []byte("x"))
	require.NoError(t, err)
	buf := make([]byte, 8)
	n, err := unix.Read(r, buf)
	require.NoError(t, err)
	assert.Equal(t, "x", string(buf[:n]))
	require.NoError(t, Close(d))
	_, err = Dup(d)
	assert.ErrorIs(t, err, unix.EBADF)
	assert.ErrorContains(t, err, "fcntl")
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	r, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { assert.NoError(t, Close(r)) }()
	w, err := OpenWriteOnly(path)
	require.NoError(t, err)
	defer func() { assert.NoError(t, Close(w)) }()
	assert.True(t, closedOnExec(t, r))
	assert.True(t, closedOnExec(t, w))

	buf := make([]byte, 8)
	_, err = unix.Read(r, buf)
	assert.Equal(t, unix.EAGAIN, err, "nothing yet")
	_, err = unix.Write(w, []byte("abc"))
	require.NoError(t, err)
	n, err := unix.Read(r, buf)
	require.NoError(t, err)
	assert.Equal(t, "abc", string(buf[:n]))
	_, err = unix.Read(w, buf)
	assert.Equal(t, unix.EBADF, err, "for writing and nothing else")

	rw, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { assert.NoError(t, Close(rw)) }()
	onlyPath, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { assert.NoError(t, Close(onlyPath)) }()
	for fd, want := range map[int]bool{w: true, rw: true, r: false, onlyPath: false} {
		got, err := Writable(fd)
		assert.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err = Writable(-1)
	assert.ErrorIs(t, err, unix.EBADF)

	_, err = Open(path + "-not-there")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "open "+path+"-not-there")
}

func TestIoctl(t *testing.T) {
	r, _ := pipe(t)
	var arg [28]byte
	assert.ErrorIs(t, Ioctl(r, IocReg, unsafe.Pointer(&arg)), unix.ENOTTY)
	var unread int32
	assert.NoError(t, Ioctl(r, unix.TIOCINQ, unsafe.Pointer(&unread)))
}

func TestMappings(t *testing.T) {
	size := os.Getpagesize()
	page, err := MapAnonymous(size)
	require.NoError(t, err)
	assert.Equal(t, make([]byte, size), page)
	page[0], page[size-1] = 1, 1

	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, make([]byte, size), 0o600))
	readable, err := Open(path)
	require.NoError(t, err)
	shared, err := MapReadOnly(int(readable.Fd()), size)
	require.NoError(t, err)
	require.NoError(t, readable.Close())
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte("changed"), 7)
	require.NoError(t, err)
	assert.Equal(t, "changed", string(shared[7:14]), "what the other side writes is seen")
	require.NoError(t, unix.Munmap(shared))
	require.NoError(t, unix.Munmap(page))

	_, err = MapReadOnly(-1, size)
	assert.ErrorIs(t, err, unix.EBADF)
	assert.ErrorContains(t, err, "mmap")
}

func TestRelease(t *testing.T) {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	require.NoError(t, err)
	release, machine := Release()
	assert.Equal(t, strings.TrimSpace(string(b)), release)
	assert.NotEmpty(t, machine)
}

// TestOpenMemory opens files of ordinary pages, and nothing else: not even a FIFO, which would wait.
func TestOpenMemory(t *testing.T) {
	fd, err := CreateMemory("memory", 4096, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { _ = Close(fd) })
	link := "/proc/self/fd/" + strconv.Itoa(fd)
	for _, writable := range []bool{false, true} {
		n, s, err := OpenMemory(link, writable, false)
		require.NoError(t, err)
		assert.EqualValues(t, 4096, s.Size)
		can, err := unix.FcntlInt(uintptr(n), unix.F_GETFL, 0)
		require.NoError(t, err)
		assert.Equal(t, writable, can&unix.O_ACCMODE == unix.O_RDWR)
		require.NoError(t, Close(n))
	}
	refused := func(path string) {
		t.Helper()
		_, _, err := OpenMemory(path, false, false)
		require.ErrorContains(t, err, "not a file of a tmpfs")
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	refused(fifo)
	refused("/dev/null")
	refused("/proc/self/status")
	_, _, err = OpenMemory(fifo+"none", false, false)
	require.ErrorIs(t, err, os.ErrNotExist)
	t.Run("huge pages", func(t *testing.T) {
		huge, err := unix.MemfdCreate("memory", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_HUGETLB)
		if err != nil {
			t.Skip("not on this kernel: it has no huge pages:", err)
		}
		t.Cleanup(func() { _ = Close(huge) })
		refused("/proc/self/fd/" + strconv.Itoa(huge))
	})
}

// TestMapFails: what cannot be mapped is an error, and no bytes at nil.
func TestMapFails(t *testing.T) {
	_, err := MapPart(-1, 0, 4096, false)
	require.ErrorIs(t, err, unix.EBADF)
	_, err = MapWritable(-1, 4096)
	require.ErrorIs(t, err, unix.EBADF)
}

// TestHasCapability compares with what /proc says of this thread.
func TestHasCapability(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b, err := os.ReadFile("/proc/thread-self/status")
	require.NoError(t, err)
	_, after, ok := strings.Cut(string(b), "CapEff:\t")
	require.True(t, ok)
	effective, err := strconv.ParseUint(after[:16], 16, 64)
	require.NoError(t, err)
	for capability := range unix.CAP_LAST_CAP + 1 {
		has, err := HasCapability(capability)
		require.NoError(t, err)
		assert.Equal(t, effective&(1<<capability) != 0, has, "%d", capability)
	}
	// Without them, on a thread that ends.
	done := make(chan bool)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		assert.NoError(t, unix.Capset(&hdr, &none[0]))
		for _, capability := range []int{CapPerfmon, CapSysAdmin} {
			has, err := HasCapability(capability)
			assert.NoError(t, err)
			assert.False(t, has)
		}
		_, err := keepPerfmonAndOpen()
		assert.ErrorIs(t, err, unix.EPERM, "it is not permitted the capability")
	}()
	<-done
}

// TestInitialNamespace: tests run in the first namespaces of their machine, unless that is a container.
func TestInitialNamespace(t *testing.T) {
	for kind, link := range map[string]string{"cgroup": "cgroup:[4026531835]", "pid": "pid:[4026531836]", "user": "user:[4026531837]", "uts": "uts:[4026531838]"} {
		is, err := os.Readlink("/proc/self/ns/" + kind)
		require.NoError(t, err)
		assert.Equal(t, is == link, InitialNamespace(kind))
	}
	assert.True(t, InitialNamespace("nosuch"))
}
