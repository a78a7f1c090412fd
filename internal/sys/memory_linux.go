package sys

import (
	"errors"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	lockCommand = unix.F_OFD_SETLK
	noReserve   = unix.MAP_NORESERVE
)

// CreateMemory makes a file of a size that only lives in memory, and closes on exec. Its mode is for those who open it through
// /proc/PID/fd, which the kernel allows to those who may read the process.
func CreateMemory(name string, size int, mode uint32) (fd int, err error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err = unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return -1, os.NewSyscallError("memfd_create", err)
	}
	err = errors.Join(os.NewSyscallError("fchmod", unix.Fchmod(fd, mode)), os.NewSyscallError("ftruncate", unix.Ftruncate(fd, int64(size))))
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
	UID      uint32 // of the owner
	Fixed    bool   // the size cannot change
	ReadOnly bool   // nothing but mappings that exist can write
}

// SealsOf returns the seals of a file that lives in memory.
func SealsOf(fd int) (s Seals, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return s, os.NewSyscallError("fstat", err)
	}
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if errors.Is(err, unix.EINVAL) { // a file that cannot have any
		seals, err = 0, nil
	}
	if err != nil {
		return s, os.NewSyscallError("fcntl", err)
	}
	has := func(want int) bool { return seals&want == want }
	return Seals{Size: st.Size, Inode: st.Ino, UID: st.Uid, Fixed: has(unix.F_SEAL_SHRINK | unix.F_SEAL_GROW), ReadOnly: has(unix.F_SEAL_FUTURE_WRITE) || has(unix.F_SEAL_WRITE)}, nil
}

// MapPart maps a part of a file for reading. With populate all its pages are there afterwards.
func MapPart(fd, offset, size int, populate bool) ([]byte, error) {
	flags := unix.MAP_SHARED
	if populate {
		flags |= unix.MAP_POPULATE
	}
	return mapBytes(fd, offset, size, unix.PROT_READ, flags)
}

// DontDump leaves a mapping out of core dumps, which would have its size even where no page was ever used.
func DontDump(at unsafe.Pointer, size int) error {
	return os.NewSyscallError("madvise", unix.Madvise(unsafe.Slice((*byte)(at), size), unix.MADV_DONTDUMP))
}

// Populated reports whether a file in memory has all pages of a part of it, there or swapped out. mincore does not tell a
// program that has dropped the user of its files. Files on a disk take no memory that cannot be had back.
func Populated(fd, offset, size int) bool {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err == nil && fs.Type != unix.TMPFS_MAGIC {
		return true
	}
	hole, err := unix.Seek(fd, int64(offset), unix.SEEK_HOLE)
	return err == nil && hole >= int64(offset+size)
}

// OpenMemory opens a file that lives in memory, by a link in /proc/PID/fd, for reading or also for writing. It opens no
// other file: opening a FIFO waits, and opening a device can do anything. If named is true, the file can be any regular one.
func OpenMemory(link string, writable, named bool) (fd int, _ Seals, err error) {
	at, err := open(link, unix.O_PATH)
	if err != nil {
		return -1, Seals{}, err
	}
	defer func() { _ = Close(at) }()
	if err := inMemory(at, named); err != nil {
		return -1, Seals{}, err
	}
	flags := unix.O_RDONLY
	if writable {
		flags = unix.O_RDWR
	}
	flags |= unix.O_NONBLOCK // its program can have a lease, whose end an open would wait for
	if fd, err = open("/proc/self/fd/"+strconv.Itoa(at), flags); err != nil {
		return -1, Seals{}, err
	}
	s, err := SealsOf(fd)
	if err != nil {
		return -1, s, errors.Join(err, Close(fd))
	}
	return fd, s, nil
}

// inMemory returns an error if a descriptor is not that of a file in ordinary pages of memory, or of a regular file.
func inMemory(fd int, named bool) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return os.NewSyscallError("fstatfs", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || !named && fs.Type != unix.TMPFS_MAGIC { // sealed huge pages that are missing fault
		return errors.New("not a file of a tmpfs")
	}
	return nil
}

// MapPrivate maps the beginning of a file for reading and writing; what this process writes is not in the file. A negative
// descriptor maps zeros. UnmapBytes undoes it.
func MapPrivate(fd, size int) ([]byte, error) {
	flags := unix.MAP_PRIVATE
	if fd < 0 {
		flags |= unix.MAP_ANON
	}
	return mapBytes(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, flags)
}

// DontFork omits a mapping from the children that fork makes.
func DontFork(b []byte) error {
	return os.NewSyscallError("madvise", unix.Madvise(b, unix.MADV_DONTFORK))
}

// NameMapping sets the name that a mapping has in /proc/PID/maps. The kernel refuses names without CONFIG_ANON_VMA_NAME, and before
// Linux 6.2 for a mapping of a file.
func NameMapping(b []byte, name string) error {
	text, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, _, errno := unix.Syscall6(unix.SYS_PRCTL, unix.PR_SET_VMA, unix.PR_SET_VMA_ANON_NAME,
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), uintptr(unsafe.Pointer(text)), 0)
	if errno != 0 {
		return os.NewSyscallError("prctl", errno)
	}
	return nil
}

// BootTime returns CLOCK_BOOTTIME in nanoseconds.
func BootTime() (uint64, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return uint64(t.Nano()), os.NewSyscallError("clock_gettime", err)
}
