package abi

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/sys"
)

// What the tests, which are outside of the package because package kerneltest imports it,
// see of its inside.

// RegisterRaw performs DIAG_IOCSREG with values that the package never uses.
func RegisterRaw(f *File, name string, word *atomic.Uintptr, offset uint64, bit, size uint8, flags uint16) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	command, err := pinned(name, &pin)
	if err != nil {
		return err
	}
	reg := userReg(bit, size, flags, address(word)+offset, command)
	return sys.Ioctl(f.fd, sys.IocReg, unsafe.Pointer(&reg))
}

// RegisterSize performs DIAG_IOCSREG with a structure that says and has another size.
func RegisterSize(f *File, size uint32, tail byte) error {
	var reg [64]byte
	order.PutUint32(reg[0:], size)
	for i := regSize; i < len(reg); i++ {
		reg[i] = tail
	}
	return sys.Ioctl(f.fd, sys.IocReg, unsafe.Pointer(&reg))
}

// The structures that the kernel gets.
func UserReg(bit, size uint8, flags uint16, word, name uint64) []byte {
	reg := userReg(bit, size, flags, word, name)
	return reg[:]
}

func UserUnreg(bit uint8, word uint64) []byte {
	unreg := userUnreg(bit, word)
	return unreg[:]
}

func OldUserReg(name uint64) []byte {
	reg := oldUserReg(name)
	return reg[:]
}

// HasEnableAddress, ByteMask, StatusGeneration and PathOf export their namesakes.
func HasEnableAddress(fd int) (bool, error) { return hasEnableAddress(fd) }

func ByteMask(bigEndian bool, byteIndex int, bits uintptr) uintptr {
	return byteMask(bigEndian, byteIndex, bits)
}

func StatusGeneration(path string) (backend.ABI, error) { return statusGeneration(path) }

func PathOf(fd int, open os.FileInfo) string { return pathOf(fd, open) }

// Locate returns the word and mask of a status page that hold an event's status.
func Locate(abi backend.ABI, page []byte, status uint32) (*atomic.Uintptr, uintptr, error) {
	return (&statusPage{abi: abi, page: page}).locate(status)
}

// FD returns the file's descriptor.
func (f *File) FD() int { return f.fd }

func init() { onOneThread = func(f func()) { f() } }

// What runs in a forked child of a Go program may neither allocate nor grow the stack nor
// call into the runtime: the child has one thread, and copies of locks that no thread will ever
// release. So it consists of raw system calls.

// ForkWriting forks the process. The child clears its copy of the word, writes a byte to ready, waits until the word and
// attached, which is in shared memory, are not 0, and writes a record. It exits with 0, with the errno of the write, or with 255
// after five minutes. The word is not enough: the kernel sets it before it marks the event of an instance of ftrace as
// enabled, and discards records that are written between the two.
func ForkWriting(f *File, word, attached *atomic.Uintptr, ready int, rec []byte) (pid int, err error) {
	pause := syscall.NsecToTimespec(250_000_000)
	child, errno := forkWriting((*uintptr)(unsafe.Pointer(word)), (*uintptr)(unsafe.Pointer(attached)), &pause, uintptr(ready), uintptr(f.fd), &rec[0], uintptr(len(rec)), cloneArgs())
	runtime.KeepAlive(f)
	return forked(child, errno)
}

//go:norace
//go:nosplit
func forkWriting(word, attached *uintptr, pause *syscall.Timespec, ready, fd uintptr, rec *byte, n uintptr, args [2]uintptr) (uintptr, syscall.Errno) {
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, args[0], args[1], 0, 0, 0, 0)
	if pid != 0 || errno != 0 {
		return pid, errno
	}
	*word = 0
	syscall.RawSyscall(syscall.SYS_WRITE, ready, uintptr(unsafe.Pointer(rec)), 1)
	for range 1200 {
		syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(pause)), 0, 0)
		if *word != 0 && *attached != 0 {
			_, _, errno = syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(rec)), n)
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
		}
	}
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 255, 0, 0)
	return 0, 0 // not reached
}

// ForkUnregister forks the process. The child unregisters the bit and exits with the errno.
func ForkUnregister(f *File, word *atomic.Uintptr, bit uint8) (pid int, err error) {
	unreg := userUnreg(bit, address(word))
	child, errno := forkUnregister(uintptr(f.fd), &unreg, cloneArgs())
	runtime.KeepAlive(f)
	return forked(child, errno)
}

//go:norace
//go:nosplit
func forkUnregister(fd uintptr, unreg *[unregSize]byte, args [2]uintptr) (uintptr, syscall.Errno) {
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, args[0], args[1], 0, 0, 0, 0)
	if pid != 0 || errno != 0 {
		return pid, errno
	}
	_, _, errno = syscall.RawSyscall(syscall.SYS_IOCTL, fd, uintptr(sys.IocUnreg), uintptr(unsafe.Pointer(unreg)))
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
	return 0, 0 // not reached
}

// cloneArgs returns the first two arguments of clone(2), which s390x has the other way round.
func cloneArgs() [2]uintptr {
	if runtime.GOARCH == "s390x" {
		return [2]uintptr{0, uintptr(syscall.SIGCHLD)}
	}
	return [2]uintptr{uintptr(syscall.SIGCHLD), 0}
}

func forked(pid uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return 0, errno
	}
	return int(pid), nil
}
