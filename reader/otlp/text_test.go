package otlp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKeptTexts: kept texts are valid and equal to the record's, with their sizes in JSON, however many names there are.
func TestKeptTexts(t *testing.T) {
	kept := newTexts()
	long := strings.Repeat("x", maxName)
	cases := map[string]string{"": "", long: long, long + "x": long + "x", "\xff": "\uFFFD", "a\xffb": "a\uFFFDb", "é\"\\\n": "é\"\\\n", "\x7f": "\x7f"}
	for i := range 4 * knownNames {
		cases[fmt.Sprint(i)] = fmt.Sprint(i)
	}
	for _, keep := range []func(string) (string, int){kept.keepName, kept.keepSized} {
		for range 2 {
			got := map[string]string{}
			for s, want := range cases {
				text, size := keep(s)
				got[s] = text
				encoded, err := json.Marshal(want)
				require.NoError(t, err)
				assert.GreaterOrEqual(t, size+2*strings.Count(want, "\uFFFD"), len(encoded), "%q", s)
				assert.Equal(t, jsonSize(s), size, "%q", s)
			}
			assert.Equal(t, cases, got)
		}
	}
}
