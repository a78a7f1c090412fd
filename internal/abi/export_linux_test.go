package abi

import (
	"os"
	"runtime"
	"sync/atomic"
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
