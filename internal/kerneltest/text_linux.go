package kerneltest

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/tracefs"
)

// TraceText returns the text of the top-level instance. Kernels before 6.4 don't trust the
// fields of user events and dump the record in hexadecimal; there the text ends with
// the bytes that were dumped.
func TraceText(tb testing.TB, fs *tracefs.Dir) (text string, dumped bool) {
	tb.Helper()
	text, err := fs.Top().Text()
	require.NoError(tb, err)
	bytes := dump(text)
	return text + string(bytes), len(bytes) > 0
}

// dump returns the bytes of lines such as
// "00000090: 22 3a 37 7d 7d 00 d3 fe                          ":7}}...".
func dump(text string) (bytes []byte) {
	for line := range strings.SplitSeq(text, "\n") {
		offset, rest, ok := strings.Cut(line, ": ")
		if !ok || len(offset) != 8 || len(rest) < 48 {
			continue
		}
		b, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(rest[:48]), " ", ""))
		if err == nil {
			bytes = append(bytes, b...)
		}
	}
	return bytes
}
