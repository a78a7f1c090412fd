package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests of user_events_data, include/uapi/linux/user_events.h:
//
//	#define DIAG_IOC_MAGIC '*'
//	#define DIAG_IOCSREG   _IOWR(DIAG_IOC_MAGIC, 0, struct user_reg *)
//	#define DIAG_IOCSDEL   _IOW(DIAG_IOC_MAGIC, 1, char *)
//	#define DIAG_IOCSUNREG _IOW(DIAG_IOC_MAGIC, 2, struct user_unreg *)
const (
	IocReg   = (iocRead|iocWrite)<<iocDirShift | pointerSize<<16 | '*'<<8
	IocDel   = iocWrite<<iocDirShift | pointerSize<<16 | '*'<<8 | 1
	IocUnreg = iocWrite<<iocDirShift | pointerSize<<16 | '*'<<8 | 2

	pointerSize = uint(unsafe.Sizeof(uintptr(0)))
)

// The build fails where the encoding above is not the architecture's own: FS_IOC_GETFLAGS
// is _IOR('f', 1, long).
var _ = [1]struct{}{}[iocRead<<iocDirShift|pointerSize<<16|'f'<<8|1-uint(unix.FS_IOC_GETFLAGS)]
