package sys

import (
	"errors"
	"io"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CreateMemory makes a file of a size that only lives in memory, and closes on exec.
func CreateMemory(name string, size int) (fd int, err error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err = unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return -1, os.NewSyscallError("memfd_create", err)
	}
	err = errors.Join(os.NewSyscallError("fchmod", unix.Fchmod(fd, 0o600)), os.NewSyscallError("ftruncate", unix.Ftruncate(fd, int64(size))))
	if err != nil {
		return -1, errors.Join(err, Close(fd))
	}
	return fd, nil
}

// SealMemory fixes the size of a file of CreateMemory, and makes it impossible to write to it but by mappings that exist.
func SealMemory(fd int, readOnly bool) error {
	seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if readOnly {
		seals |= unix.F_SEAL_FUTURE_WRITE
	}
	_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	return os.NewSyscallError("fcntl", err)
}

// Seals are what is known about a file that another program made.
type Seals struct {
	Size     int64
	Inode    uint64
	Fixed    bool // the size cannot change
	ReadOnly bool // nothing but mappings that exist can write
}

// SealsOf returns the seals of a file that lives in memory.
func SealsOf(fd int) (s Seals, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return s, os.NewSyscallError("fstat", err)
	}
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return s, os.NewSyscallError("fcntl", err)
	}
	has := func(want int) bool { return seals&want == want }
	return Seals{Size: st.Size, Inode: st.Ino, Fixed: has(unix.F_SEAL_SHRINK | unix.F_SEAL_GROW), ReadOnly: has(unix.F_SEAL_FUTURE_WRITE) || has(unix.F_SEAL_WRITE)}, nil
}

// MapShared maps a part of a file for reading and writing. A nil address leaves the choice to the kernel; another replaces what
// is mapped there.
func MapShared(fd int, at unsafe.Pointer, size int) (unsafe.Pointer, error) {
	return mapAt(fd, 0, at, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// MapPart maps a part of a file for reading. With populate all its pages are there afterwards.
func MapPart(fd, offset, size int, populate bool) ([]byte, error) {
	flags := unix.MAP_SHARED
	if populate {
		flags |= unix.MAP_POPULATE
	}
	return mapBytes(fd, offset, size, unix.PROT_READ, flags)
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
	_, err := mapAt(-1, 0, at, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
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

// DontDump leaves a mapping out of core dumps, which would have its size even where no page was ever used.
func DontDump(at unsafe.Pointer, size int) error {
	return os.NewSyscallError("madvise", unix.Madvise(unsafe.Slice((*byte)(at), size), unix.MADV_DONTDUMP))
}

// Populated reports whether a file of CreateMemory has all pages of a part of it, in memory or swapped out. mincore does not tell a
// program that has dropped the user of its files.
func Populated(fd, offset, size int) bool {
	hole, err := unix.Seek(fd, int64(offset), unix.SEEK_HOLE)
	return err == nil && hole >= int64(offset+size)
}

// FileSizeLimit returns RLIMIT_FSIZE.
func FileSizeLimit() (uint64, error) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_FSIZE, &l)
	return l.Cur, os.NewSyscallError("getrlimit", err)
}

// LockByte takes a lock of one byte of a file for the open file of the descriptor, and reports whether it is free. The kernel
// releases it with the open file.
func LockByte(fd, at int) bool { return lockByte(fd, at, unix.F_WRLCK) == nil }

// UnlockByte undoes LockByte.
func UnlockByte(fd, at int) error { return os.NewSyscallError("fcntl", lockByte(fd, at, unix.F_UNLCK)) }

func lockByte(fd, at int, kind int16) error {
	l := unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: int64(at), Len: 1}
	return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &l)
}

// MapWritable maps a file for reading and writing.
func MapWritable(fd, size int) ([]byte, error) {
	return mapBytes(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// UnmapBytes undoes the functions that return bytes.
func UnmapBytes(b []byte) error { return Unmap(unsafe.Pointer(unsafe.SliceData(b)), len(b)) }

// OpenMemory opens a file that lives in memory, by a link in /proc/PID/fd, for reading or also for writing. It opens no
// other file: opening a FIFO waits, and opening a device can do anything.
func OpenMemory(link string, writable bool) (fd int, _ Seals, err error) {
	at, err := open(link, unix.O_PATH)
	if err != nil {
		return -1, Seals{}, err
	}
	defer func() { _ = Close(at) }()
	if err := inMemory(at); err != nil {
		return -1, Seals{}, err
	}
	flags := unix.O_RDONLY
	if writable {
		flags = unix.O_RDWR
	}
	if fd, err = open("/proc/self/fd/"+strconv.Itoa(at), flags); err != nil {
		return -1, Seals{}, err
	}
	s, err := SealsOf(fd)
	if err != nil {
		return -1, s, errors.Join(err, Close(fd))
	}
	return fd, s, nil
}

// inMemory returns an error if a descriptor is not that of a file in ordinary pages of memory.
func inMemory(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return os.NewSyscallError("fstatfs", err)
	}
	if fs.Type != unix.TMPFS_MAGIC || st.Mode&unix.S_IFMT != unix.S_IFREG { // sealed huge pages that are missing fault
		return errors.New("not a file of a tmpfs")
	}
	return nil
}
