package eventheader

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/truncate"
)

// TestEscapesAreCutBetween: whatever room a text has, it ends behind a character or an escape, and no further one would fit.
func TestEscapesAreCutBetween(t *testing.T) {
	raw := []string{"\n", "d", "8", "a", "\\", "\\", "\x01", "\u202e", "\\", "é", "😀", "\U000e0001", "b", "\\", "\\", "\\", "\n", "\\", "n"}
	escaped := make([]string, len(raw))
	for i, s := range raw {
		b, _ := text.Append(nil, s, math.MaxInt)
		escaped[i] = string(b)
	}
	// In JSON there are escapes already, and two may stand for one character.
	inJSON := []string{`\n`, `d`, `8`, `a`, `\\`, `\\`, `\"`, `\u00e9`, `\ud83d\ude00`, `\\`, `u`, `\ud83d\ude00`, `\ud83d\ude00`, `é`, `\\`, `\\`, `\u202e`}
	for _, tt := range []struct {
		typ    Type
		pieces []string // of the text in the event
		source []string
	}{{typeString, escaped, raw}, {typeJSON, inJSON, inJSON}} {
		for first := range tt.pieces {
			pieces := append(append([]string{}, tt.pieces[first:]...), tt.pieces[:first]...)
			source := strings.Join(append(append([]string{}, tt.source[first:]...), tt.source[:first]...), "")
			pieces, source = slices.Repeat(pieces, 3), strings.Repeat(source, 3)
			whole := strings.Join(pieces, "")
			encode := func(limit int) ([]node, int) {
				var e Encoder
				e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, limit)
				addText(&e, "t", tt.typ, source)
				b := end(t, &e)
				return requireEvent(t, b, limit), len(b)
			}
			nodes, full := encode(0)
			require.Equal(t, whole, nodes[0].Value)
			require.Equal(t, tt.typ, nodes[0].Type)
			for limit := full - 1; limit >= full+truncatedSize-len(whole)+truncate.Short; limit-- {
				nodes, n := encode(limit)
				require.Len(t, nodes, 2)
				body, cut := strings.CutSuffix(nodes[0].Value.(string), text.CutMark)
				require.True(t, cut)
				kept := 0
				for at := 0; at < len(body); kept++ {
					require.True(t, strings.HasPrefix(body[at:], pieces[kept]), "%v: %q of %q at limit %d", tt.typ, body, whole, limit)
					at += len(pieces[kept])
				}
				require.Equal(t, strings.Join(pieces[:kept], ""), body)
				require.Greater(t, n+len(pieces[kept]), limit, "%v: %q of %q", tt.typ, body, whole)
				wantType := tt.typ
				if tt.typ.format() == FormatJSON {
					wantType = typeOf(tt.typ.encoding(), formatUTFBOM)
				}
				assert.Equal(t, wantType, nodes[0].Type)
			}
		}
	}
}
