package sys

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Capabilities for reading events. The kernel accepts CapSysAdmin wherever it asks for CapPerfmon.
const (
	CapPerfmon  = unix.CAP_PERFMON
	CapSysAdmin = unix.CAP_SYS_ADMIN
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
