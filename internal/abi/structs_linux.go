package abi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/words"
)

// The kernel's structures are packed, which Go's are not, so they are written into byte
// arrays at these offsets.
//
// Linux 6.4 and later:
//
//	struct user_reg {
//		__u32 size;         //  0
//		__u8  enable_bit;   //  4
//		__u8  enable_size;  //  5, in bytes: 4 or 8
//		__u16 flags;        //  6
//		__u64 enable_addr;  //  8
//		__u64 name_args;    // 16
//		__u32 write_index;  // 24, output
//	} __attribute__((__packed__));
//
//	struct user_unreg {
//		__u32 size;         //  0
//		__u8  disable_bit;  //  4
//		__u8  __reserved;   //  5
//		__u16 __reserved2;  //  6
//		__u64 disable_addr; //  8
//	} __attribute__((__packed__));
//
// Linux 5.18 to 6.3:
//
//	struct user_reg {
//		__u32 size;         //  0
//		__u64 name_args;    //  4
//		__u32 status_bit;   // 12, output; status_index before 6.1
//		__u32 write_index;  // 16, output
//	} __attribute__((__packed__));
const (
	regSize       = 28
	regWriteIndex = 24
	unregSize     = 16

	oldRegSize       = 20
	oldRegStatus     = 12
	oldRegWriteIndex = 16

	wordSize = words.Size
)

var order = binary.NativeEndian

// cString returns a copy of s with a terminating NUL.
func cString(s string) ([]byte, error) {
	if strings.IndexByte(s, 0) >= 0 {
		return nil, fmt.Errorf("string with a NUL byte: %w", errno.EINVAL)
	}
	return append([]byte(s), 0), nil
}

// pinned returns the address of a copy of s. The pinner keeps it from moving while only the
// kernel knows its address.
func pinned(s string, pin *runtime.Pinner) (uint64, error) {
	b, err := cString(s)
	if err != nil {
		return 0, err
	}
	pin.Pin(&b[0])
	return uint64(uintptr(unsafe.Pointer(&b[0]))), nil
}

func register(fd int, r backend.Request) (index uint32, err error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	name, err := pinned(r.Command, &pin)
	if err != nil {
		return 0, err
	}
	reg := userReg(r.Bit, uint8(wordSize), r.Flags, address(r.Word), name)
	if err := sys.Ioctl(fd, sys.IocReg, unsafe.Pointer(&reg)); err != nil {
		return 0, err
	}
	return order.Uint32(reg[regWriteIndex:]), nil
}

func userReg(bit, size uint8, flags uint16, word, name uint64) (reg [regSize]byte) {
	order.PutUint32(reg[0:], regSize)
	reg[4], reg[5] = bit, size
	order.PutUint16(reg[6:], flags)
	order.PutUint64(reg[8:], word)
	order.PutUint64(reg[16:], name)
	return reg
}

func unregister(fd int, word *atomic.Uintptr, bit uint8) error {
	unreg := userUnreg(bit, address(word))
	return sys.Ioctl(fd, sys.IocUnreg, unsafe.Pointer(&unreg))
}

func userUnreg(bit uint8, word uint64) (unreg [unregSize]byte) {
	order.PutUint32(unreg[0:], unregSize)
	unreg[4] = bit
	order.PutUint64(unreg[8:], word)
	return unreg
}

// registerOld registers with the structure of the status generations.
func registerOld(fd int, command string) (index, status uint32, err error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	name, err := pinned(command, &pin)
	if err != nil {
		return 0, 0, err
	}
	reg := oldUserReg(name)
	if err := sys.Ioctl(fd, sys.IocReg, unsafe.Pointer(&reg)); err != nil {
		return 0, 0, err
	}
	return order.Uint32(reg[oldRegWriteIndex:]), order.Uint32(reg[oldRegStatus:]), nil
}

func oldUserReg(name uint64) (reg [oldRegSize]byte) {
	order.PutUint32(reg[0:], oldRegSize)
	order.PutUint64(reg[4:], name)
	return reg
}

func deleteEvent(fd int, name string) error {
	b, err := cString(name)
	if err != nil {
		return err
	}
	return sys.Ioctl(fd, sys.IocDel, unsafe.Pointer(&b[0]))
}

func address(word *atomic.Uintptr) uint64 { return uint64(uintptr(unsafe.Pointer(word))) }

// hasEnableAddress asks the kernel which structure it takes, by a registration that neither
// kind of kernel can carry out: unknown flags, and a last word that is not zero. A kernel
// with enable addresses refuses the flags (EINVAL). An older one sees a structure longer
// than its own whose tail is not zero (E2BIG).
func hasEnableAddress(fd int) (bool, error) {
	reg := userReg(0, uint8(wordSize), math.MaxUint16, 0, 0)
	order.PutUint32(reg[regWriteIndex:], math.MaxUint32)
	switch err := sys.Ioctl(fd, sys.IocReg, unsafe.Pointer(&reg)); {
	case errors.Is(err, errno.EINVAL):
		return true, nil
	case errors.Is(err, errno.E2BIG):
		return false, nil
	case err == nil:
		return false, errors.New("a registration with unknown flags succeeded")
	default:
		return false, err
	}
}
