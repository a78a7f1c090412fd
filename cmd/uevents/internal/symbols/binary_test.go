package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
)

// header64 is the header of an ELF file for AMD64 whose sections follow it.
func header64(sections, names uint16) elf.Header64 {
	return elf.Header64{
		Ident:   [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:    uint16(elf.ET_EXEC),
		Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Shoff: 64, Ehsize: 64, Phentsize: 56, Shentsize: 64, Shnum: sections, Shstrndx: names,
	}
}

// encode returns values one after the other, as they are in a file.
func encode(values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// TestNamesOutOfRange: package debug/elf panics if the section with the names of sections is none of the file.
func TestNamesOutOfRange(t *testing.T) {
	file := make([]byte, 64+0xff00*64)
	copy(file, encode(header64(0, 0xfff0), elf.Section64{Size: 0xff00}))
	_, err := readExecutable(bytes.NewReader(file))
	assert.Error(t, err)
}
