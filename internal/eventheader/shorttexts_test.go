package eventheader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// TestShortTexts: texts of at most 64 bytes, such as ids, are whole or dropped, whatever is cut, dropped or moved before them.
func TestShortTexts(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	long, short := strings.Repeat("long ", 1000), strings.Repeat("s", 60)
	var e Encoder // which is reused
	whole := 0
	for _, n := range []int{0, 1, 10, 100, 300} {
		for limit := 100; limit < 4000; limit += testscale.Count(59, 590) {
			for _, text := range []string{long, short} {
				e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, limit)
				e.BeginStruct("A")
				for i := range n / 3 {
					e.String(fmt.Sprint("before", i), text)
				}
				e.String("empty", "")
				e.String("id", id)
				e.EndStruct()
				for i := range n / 3 {
					e.String(fmt.Sprint("between", i), text)
				}
				e.String("time", "2026-11-21T10:20:30Z")
				for i := range n / 3 {
					e.Strings(fmt.Sprint("after", i), []string{text, "x"})
				}
				payload, err := e.End()
				require.NoError(t, err)
				require.LessOrEqual(t, len(payload), limit)
				ev, err := Decode("p_L4K1", payload)
				require.NoError(t, err)
				fields, err := ev.AppendFieldsJSON(nil)
				require.NoError(t, err)
				for name, value := range map[string]string{"id": id, "time": "2026-11-21T10:20:30Z"} {
					if !strings.Contains(string(fields), `"`+name+`":"`+value+`"`) {
						require.NotContains(t, string(fields), `"`+name+`":`, "%d, %d", n, limit)
						require.Positive(t, e.Lost())
						continue
					}
					whole++
				}
			}
		}
	}
	assert.Greater(t, whole, testscale.Count(600, 60))
}

// TestStructThatBecomesText: the text that takes its place is cut like others.
func TestStructThatBecomesText(t *testing.T) {
	var e Encoder
	e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, 300)
	for range maxNesting + 1 {
		e.BeginStruct("s")
	}
	e.String("id", "4bf92f3577b34da6a3ce929d0e0e4736")
	e.String("long", strings.Repeat("x", 1000))
	for range maxNesting + 1 {
		e.EndStruct()
	}
	all, lost := values(requireEvent(t, end(t, &e), 300))
	require.Len(t, all["s"], 1)
	assert.Regexp(t, `^\{"id":"4bf92f3577b34da6a3ce929d0e0e4736","long":"x+\.\.\.$`, all["s"][0])
	assert.Equal(t, 1, lost)
}
