package sys

import (
	"math"
	"os"
	"structs"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

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
