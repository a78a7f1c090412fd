package abi

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/userevents/userevents-go/internal/sys"
)

// RegisterRaw performs DIAG_IOCSREG with values that the package never uses.
func RegisterRaw(f *File, name string, word *atomic.Uint32, offset uint64, bit, size uint8) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	address64, err := cString(name, &pin)
	if err != nil {
		return err
	}
	var reg [regSize]byte
	order.PutUint32(reg[0:], regSize)
	reg[4], reg[5] = bit, size
	order.PutUint64(reg[8:], address(word)+offset)
	order.PutUint64(reg[16:], address64)
	return sys.Ioctl(f.fd, sys.IocReg, unsafe.Pointer(&reg))
}

// ByteMask exports byteMask.
func ByteMask(byteIndex, bit uint32) uint32 { return byteMask(byteIndex, bit) }

// FD returns the file's descriptor.
func (f *File) FD() int { return f.fd }
