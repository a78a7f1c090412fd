package sys

import (
	"errors"
	"math"
	"os"
	"runtime"
	"structs"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Capabilities for reading events of the kernel, where it accepts CapSysAdmin wherever it asks for CapPerfmon, and those of programs in
// shared memory.
const (
	CapPerfmon       = unix.CAP_PERFMON
	CapSysAdmin      = unix.CAP_SYS_ADMIN
	CapDacReadSearch = unix.CAP_DAC_READ_SEARCH
	CapSysPtrace     = unix.CAP_SYS_PTRACE
)

// HasCapability reports whether this thread's effective capabilities hold one.
func HasCapability(capability int) (bool, error) {
	data, err := capabilities()
	return data[capability/32].Effective&capabilityBit(capability) != 0, err
}

func capabilityBit(capability int) uint32 { return 1 << (capability % 32) }

func capabilities() (data [2]unix.CapUserData, err error) {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	return data, os.NewSyscallError("capget", unix.Capget(&hdr, &data[0]))
}

// OpensPerfWithPerfmon reports whether the kernel opens perf events of CPU 0 for a thread whose one effective capability is
// CapPerfmon. It fails unless this process is permitted that one. It takes a thread, which ends.
func OpensPerfWithPerfmon() (opens bool, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // until the thread ends
		opens, err = keepPerfmonAndOpen()
	}()
	<-done
	return opens, err
}

// keepPerfmonAndOpen changes the thread.
func keepPerfmonAndOpen() (opens bool, err error) {
	data, err := capabilities()
	if err != nil {
		return false, err
	}
	for i := range data {
		data[i].Effective = 0
	}
	data[CapPerfmon/32].Effective = capabilityBit(CapPerfmon)
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capset(&hdr, &data[0]); err != nil {
		return false, os.NewSyscallError("capset", err)
	}
	fd, err := OpenPerf(PerfAttr{}, 0, -1)
	if errors.Is(err, os.ErrPermission) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return true, Close(fd)
}

// Secure reports whether the program runs with other privileges than those of its caller, such as with a set-user-ID bit.
func Secure() bool {
	const atSecure = 23 // AT_SECURE of linux/auxvec.h
	vector, err := unix.Auxv()
	if err != nil {
		return false
	}
	for _, v := range vector {
		if v[0] == atSecure {
			return v[1] != 0
		}
	}
	return false
}

// CgroupRoot reports whether a directory is the root of a hierarchy of cgroups, and not of a part of it, as in a container.
func CgroupRoot(dir string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return false
	}
	magic := uint32(fs.Type)
	return (magic == unix.CGROUP2_SUPER_MAGIC || magic == unix.CGROUP_SUPER_MAGIC) && Inode(dir) == rootInode
}

// rootInode is that of the root of a hierarchy (fs/kernfs).
const rootInode = 1

// sigevent is struct sigevent of the kernel's include/uapi/asm-generic/siginfo.h:
//
//	union sigval sigev_value; // an int or a pointer
//	int sigev_signo;
//	int sigev_notify;
//	union { int _pad[SIGEV_PAD_SIZE]; ... } _sigev_un; // up to 64 bytes
type sigevent struct {
	_      structs.HostLayout
	value  uintptr
	signo  int32
	notify int32
	_      [sigeventSize - unsafe.Sizeof(uintptr(0)) - 8]byte
}

const (
	sigeventSize = 64
	sigevSignal  = 0 // SIGEV_SIGNAL
)

// KillTimer ends this process by SIGKILL when its time is over, unless [KillTimer.Stop] is called before. The kernel keeps the timer: it
// also ends a process that is stopped, or whose threads wait. Children do not inherit it.
type KillTimer struct{ id int32 }

// NewKillTimer starts a timer of CLOCK_MONOTONIC. Times above 68 years, for which 32-bit kernels have no number, are 68 years.
func NewKillTimer(d time.Duration) (*KillTimer, error) {
	t := new(KillTimer)
	event := sigevent{signo: int32(unix.SIGKILL), notify: sigevSignal}
	if _, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&t.id))); errno != 0 {
		return nil, os.NewSyscallError("timer_create", errno)
	}
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(min(max(d, 1), math.MaxInt32*time.Second).Nanoseconds())} // 0 would not start it
	if _, _, errno := unix.Syscall6(unix.SYS_TIMER_SETTIME, uintptr(t.id), 0, uintptr(unsafe.Pointer(&at)), 0, 0, 0); errno != 0 {
		_ = t.Stop()
		return nil, os.NewSyscallError("timer_settime", errno)
	}
	return t, nil
}

// Stop ends the timer. It is called once.
func (t *KillTimer) Stop() error {
	if _, _, errno := unix.Syscall(unix.SYS_TIMER_DELETE, uintptr(t.id), 0, 0); errno != 0 {
		return os.NewSyscallError("timer_delete", errno)
	}
	return nil
}

// The kernel reads so many bytes.
var _ [sigeventSize]byte = [unsafe.Sizeof(sigevent{})]byte{}
