//go:build linux && (mips || mipsle || mips64 || mips64le || ppc64 || ppc64le || sparc64)

package sys

// These architectures have three bits of direction, in other places than
// asm-generic/ioctl.h says.
const (
	iocRead     = 2
	iocWrite    = 4
	iocDirShift = 29
)
