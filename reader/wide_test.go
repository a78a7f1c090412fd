package reader_test

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"

	"github.com/userevents/userevents-go/encode/eventheader"
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
	types := map[int]eventheader.Encoding{2: eventheader.String16, 4: eventheader.String32}
	meta := bytes.Index(payload, []byte(name+"\x00"+string([]byte{byte(eventheader.TypeBytes)})))
	payload[meta+len(name)+1] = byte(types[unit])
	data := bytes.Index(payload, append(binary.NativeEndian.AppendUint16(nil, uint16(len(content))), content...))
	binary.NativeEndian.PutUint16(payload[data:], uint16(len(content)/unit))
}
