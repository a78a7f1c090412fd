package record_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf16"

	"github.com/userevents/userevents-go/internal/eventheader"
)

// wideText returns a text in units of 2 or 4 bytes.
func wideText(unit int, v string) (b []byte) {
	for _, r := range v {
		if unit == 4 {
			b = binary.NativeEndian.AppendUint32(b, uint32(r))
			continue
		}
		for _, u := range utf16.AppendRune(nil, r) {
			b = binary.NativeEndian.AppendUint16(b, u)
		}
	}
	return b
}

// widen makes a text in UTF-16 or UTF-32 of bytes in an event, which an Encoder does not write.
func widen(payload []byte, name string, unit int, content []byte) {
	const string16, string32 = 11, 12
	payload[encodingOf(payload, name)] = map[int]byte{2: string16, 4: string32}[unit]
	data := bytes.Index(payload, append(binary.NativeEndian.AppendUint16(nil, uint16(len(content))), content...))
	binary.NativeEndian.PutUint16(payload[data:], uint16(len(content)/unit))
}

// encodingOf returns where in an event the encoding of binary data is.
func encodingOf(payload []byte, name string) int {
	const encoding = 13
	return bytes.Index(payload, []byte(name+"\x00"+string([]byte{encoding}))) + len(name) + 1
}

// format returns the event with a format for binary data, which an Encoder does not write.
func format(payload []byte, event, name string, f eventheader.Format) []byte {
	size := payload[bytes.Index(payload, []byte(event+"\x00"))-4:] // of the metadata
	binary.NativeEndian.PutUint16(size, binary.NativeEndian.Uint16(size)+1)
	const formatFollows = 0x80
	at := encodingOf(payload, name)
	payload[at] |= formatFollows
	return slices.Insert(payload, at+1, byte(f))
}
