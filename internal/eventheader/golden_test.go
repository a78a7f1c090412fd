package eventheader

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGolden decodes the golden file of LinuxTracepoints
// (github.com/microsoft/LinuxTracepoints, directory TestOutput) and compares
// each record with the JSON that the reference decoder made of it. Set
// EVENTHEADER_GOLDEN_DIR to that directory.
func TestGolden(t *testing.T) {
	dir := os.Getenv("EVENTHEADER_GOLDEN_DIR")
	if dir == "" {
		t.Skip("only by hand: EVENTHEADER_GOLDEN_DIR is not set")
	}
	const name = "EventHeaderInterceptorLE64.dat"
	records, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	want, err := os.ReadFile(filepath.Join(dir, name+".linux.json"))
	require.NoError(t, err)

	lines := goldenLines(t, want)
	n := 0
	for ; len(records) > 0; n++ {
		require.Less(t, n, len(lines), "more records than lines")
		// A record is its size, that of the size included, the tracepoint's name, a NUL, and the payload.
		size := binary.LittleEndian.Uint32(records)
		tp, payload, ok := bytes.Cut(records[4:size], []byte{0})
		require.True(t, ok)
		records = records[size:]

		ev, err := Decode(string(tp), payload)
		require.NoError(t, err, lines[n])
		got, err := ev.appendJSON(nil)
		require.NoError(t, err, lines[n])
		assert.True(t, json.Valid(got), "%s", got)
		assert.Equal(t, lines[n], string(got))
	}
	assert.Equal(t, 374, n)
	t.Logf("%d records agree", n)
}

// goldenLines returns the objects of the golden JSON without white space.
func goldenLines(t *testing.T, b []byte) []string {
	var lines []string
	for line := range strings.Lines(string(b)) {
		line = strings.Trim(line, " \n]")
		line = strings.TrimSuffix(line, ",")
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var compact bytes.Buffer
		require.NoError(t, json.Compact(&compact, replaceNonCharacters([]byte(line))))
		lines = append(lines, compact.String())
	}
	return lines
}

// replaceNonCharacters replaces what the reference decoder makes of numbers beyond Unicode,
// longer forms of UTF-8 that are no UTF-8, by the replacement character, as we do.
func replaceNonCharacters(b []byte) []byte {
	var out []byte
	for i := 0; i < len(b); {
		n := 0
		switch c := b[i]; {
		case c >= 0xfe:
			n = 7
		case c >= 0xfc:
			n = 6
		case c >= 0xf8:
			n = 5
		}
		if n == 0 {
			out = append(out, b[i])
			i++
			continue
		}
		out = append(out, "\ufffd"...)
		i += n
	}
	return out
}
