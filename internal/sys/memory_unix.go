//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package sys

import (
	"errors"
	"io"
	"os"
	"runtime/debug"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Open opens a file for reading, as [os.Open] does, but without Go's poller: the first use of that ends a program that has
// no descriptors left, or if a sandbox refuses the system calls.
func Open(path string) (*os.File, error) {
	fd, err := open(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// ReadFile returns the content of a small file.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<20))
}

func open(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return -1, &os.PathError{Op: "open", Path: path, Err: err}
		}
		return fd, nil
	}
}

// MapShared maps a part of a file for reading and writing. A nil address leaves the choice to the kernel; another replaces what
// is mapped there.
func MapShared(fd int, at unsafe.Pointer, size int) (unsafe.Pointer, error) {
	return mapAt(fd, 0, at, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func mapBytes(fd, offset, size, prot, flags int) ([]byte, error) {
	p, err := mapAt(fd, offset, nil, size, prot, flags)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), size), nil
}

// MapZeros replaces what is mapped at an address by private zeros. Loads from there see one or the other.
func MapZeros(at unsafe.Pointer, size int) error {
	_, err := mapAt(-1, 0, at, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|noReserve)
	return err
}

func mapAt(fd, offset int, at unsafe.Pointer, size, prot, flags int) (unsafe.Pointer, error) {
	if at != nil {
		flags |= unix.MAP_FIXED
	}
	p, err := unix.MmapPtr(fd, int64(offset), at, uintptr(size), prot, flags)
	return p, os.NewSyscallError("mmap", err)
}

// Unmap undoes the functions that map.
func Unmap(at unsafe.Pointer, size int) error {
	return os.NewSyscallError("munmap", unix.MunmapPtr(at, uintptr(size)))
}

// FileSizeLimit returns RLIMIT_FSIZE.
func FileSizeLimit() (uint64, error) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_FSIZE, &l)
	return uint64(l.Cur), os.NewSyscallError("getrlimit", err) //nolint:unconvert // signed on FreeBSD
}

// LockByte takes a lock of one byte of a file for the open file of the descriptor, or on systems other than Linux for the
// process, and reports whether it is free. The kernel releases it with its owner.
func LockByte(fd, at int) bool { return lockByte(fd, at, unix.F_WRLCK) == nil }

// UnlockByte undoes LockByte.
func UnlockByte(fd, at int) error { return os.NewSyscallError("fcntl", lockByte(fd, at, unix.F_UNLCK)) }

func lockByte(fd, at int, kind int16) error {
	l := unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: int64(at), Len: 1}
	return unix.FcntlFlock(uintptr(fd), lockCommand, &l)
}

// MapWritable maps a file for reading and writing.
func MapWritable(fd, size int) ([]byte, error) {
	return mapBytes(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// In reports whether an address is in a mapping.
func In(b []byte, address uintptr) bool {
	return address-uintptr(unsafe.Pointer(unsafe.SliceData(b))) < uintptr(len(b))
}

// ZeroBytes is MapZeros for the functions that return bytes.
func ZeroBytes(b []byte) error { return MapZeros(unsafe.Pointer(unsafe.SliceData(b)), len(b)) }

// UnmapBytes undoes the functions that return bytes.
func UnmapBytes(b []byte) error { return Unmap(unsafe.Pointer(unsafe.SliceData(b)), len(b)) }

// MayCreate returns an error if this process may not make files in a directory.
func MayCreate(dir string) error {
	err := unix.Faccessat(unix.AT_FDCWD, dir+"/.", unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	if err != nil {
		return &os.PathError{Op: "access", Path: dir, Err: err}
	}
	return nil
}

// CreateFile makes a file of a size, which has no blocks yet, that is the user's alone.
func CreateFile(path string, size int) (fd int, err error) {
	fd, err = unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return -1, errors.Join(&os.PathError{Op: "truncate", Path: path, Err: err}, os.Remove(path), Close(fd))
	}
	return fd, nil
}

// Fill writes zeros to the beginning of a new file, so that the disk has room for it.
func Fill(fd, size int) error {
	for zeros := make([]byte, size); len(zeros) > 0; {
		n, err := unix.Write(fd, zeros)
		if err != nil {
			return os.NewSyscallError("write", err)
		}
		zeros = zeros[n:]
	}
	return nil
}

// LockNew locks a file of CreateFile as long as it is open. It reports false if a call of LockDead has taken it for a dead one.
func LockNew(fd int) (bool, error) {
	err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, os.NewSyscallError("flock", err)
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	return st.Nlink > 0, os.NewSyscallError("fstat", err)
}

// Locked reports whether another open file holds the lock of LockNew.
func Locked(fd int) bool {
	err := unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		_ = unix.Flock(fd, unix.LOCK_UN)
	}
	return errors.Is(err, unix.EWOULDBLOCK)
}

// LockDead opens a file that no program has locked, and locks it.
func LockDead(path string) (fd int, err error) {
	fd, err = unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	err = errors.Join(unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB), unix.Fstat(fd, &st))
	if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink == 0) { // another program has removed it
		err = errors.ErrUnsupported
	}
	if err != nil {
		return -1, errors.Join(err, Close(fd))
	}
	return fd, nil
}

// OwnDirectory reports whether a path is a directory, not a link, to which this user alone can write.
func OwnDirectory(path string) (bool, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return false, &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	return st.Mode&unix.S_IFMT == unix.S_IFDIR && st.Mode&0o022 == 0 && int(st.Uid) == os.Geteuid(), nil
}

// InodeOf returns the inode number of an open file.
func InodeOf(fd int) (uint64, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return uint64(st.Ino), os.NewSyscallError("fstat", err) //nolint:unconvert // 32 bits on some systems
}

// Fault is the panic of an access to mapped memory that is not there: its file was cut off, or the disk is full.
type Fault interface {
	error
	Addr() uintptr
}

// Try calls a function, and returns the fault that ended it.
func Try(call func()) (f Fault) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		var ok bool
		if f, ok = cause.(Fault); !ok {
			panic(cause)
		}
	}()
	call()
	return nil
}
