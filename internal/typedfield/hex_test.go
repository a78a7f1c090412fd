package typedfield

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHexDigits(t *testing.T) {
	for v := range 1 << 16 {
		field := make([]byte, 4)
		putHex(field, []byte{byte(v >> 8), byte(v)})
		require.Equal(t, fmt.Sprintf("%04x", v), string(field))
	}
	assert.Equal(t, uint64(0x6665656264616564), hexDigits(0xEFBEADDE), "deadbeef in ASCII")
}

// Ids of every size are written as package fmt prints them, and nothing around them is touched.
func TestPutHex(t *testing.T) {
	id := make([]byte, 40)
	for i := range id {
		id[i] = byte(37 * i)
	}
	for n := range len(id) + 1 {
		field := bytes.Repeat([]byte{'?'}, 2*n)
		putHex(field, id[:n])
		require.Equal(t, fmt.Sprintf("%x", id[:n]), string(field))

		b := AppendHex(append(make([]byte, 0, 200), "1234"...), 0, 0, id[:n])
		require.Equal(t, fmt.Sprintf("%x", id[:n])+"\x00", string(b[4:]))
		require.Equal(t, make([]byte, 100-2*n), b[len(b):][:100-2*n], "behind it")
		require.Equal(t, b, AppendHex([]byte("1234"), 0, 0, id[:n]), "in a buffer without room")
	}
}

func TestPutUUID(t *testing.T) {
	field := make([]byte, uuidSize-1)
	putUUID(field, [16]byte{0x6B, 0xA7, 0xB8, 0x10, 0x9D, 0xAD, 0x11, 0xD1, 0x80, 0xB4, 0x00, 0xC0, 0x4F, 0xD4, 0x30, 0xC8})
	assert.Equal(t, "6ba7b810-9dad-11d1-80b4-00c04fd430c8", string(field))
}
