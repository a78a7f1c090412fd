//go:build linux && !mips && !mipsle && !mips64 && !mips64le && !ppc64 && !ppc64le && !sparc64

package sys

// The encoding of ioctl requests, include/uapi/asm-generic/ioctl.h.
const (
	iocWrite    = 1
	iocRead     = 2
	iocDirShift = 30
)
