package typed

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHexDigits(t *testing.T) {
	assert.Equal(t, "0123456789abcdef", string([]byte{
		byte(hexDigits(0x0) >> 0), byte(hexDigits(0x1)), byte(hexDigits(0x2)), byte(hexDigits(0x3)),
		byte(hexDigits(0x4)), byte(hexDigits(0x5)), byte(hexDigits(0x6)), byte(hexDigits(0x7)),
		byte(hexDigits(0x8)), byte(hexDigits(0x9)), byte(hexDigits(0xA)), byte(hexDigits(0xB)),
		byte(hexDigits(0xC)), byte(hexDigits(0xD)), byte(hexDigits(0xE)), byte(hexDigits(0xF)),
	}))
	assert.Equal(t, uint64(0x6465616462656566), hexDigits(0xDEADBEEF), "deadbeef in ASCII")
	assert.Equal(t, uint64(0x3031323334353637), hexDigits(0x01234567))
}

func TestPutUUID(t *testing.T) {
	field := make([]byte, uuidSize-1)
	putUUID(field, [16]byte{0x6B, 0xA7, 0xB8, 0x10, 0x9D, 0xAD, 0x11, 0xD1, 0x80, 0xB4, 0x00, 0xC0, 0x4F, 0xD4, 0x30, 0xC8})
	assert.Equal(t, "6ba7b810-9dad-11d1-80b4-00c04fd430c8", string(field))
}
