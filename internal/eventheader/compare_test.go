package eventheader

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/text"
)

// requireFields checks that the fields of an event are those that were wanted, in order, except
// for what the event says it lost.
func requireFields(t testing.TB, got, want []node) {
	t.Helper()
	whole := true
	if n := len(got); n > 0 && got[n-1].Name == TruncatedField && got[n-1].Type == typeUint16 {
		require.NotZero(t, got[n-1].Value)
		got, whole = got[:n-1], false
	}
	require.NoError(t, compare(got, want, whole, 0))
}

// compare returns how fields differ from those that were wanted.
func compare(got, want []node, whole bool, depth int) error {
	for i, g := range got {
		if g.Name == overflowField && i == len(got)-1 {
			// It has what did not fit beside it.
			nested, ok := g.Value.([]node)
			if !ok {
				return compareJSON(g, whole)
			}
			return compare(nested, want, whole, depth+1)
		}
		var err error
		if want, err = advance(want, whole, func(w node) error { return compareNode(g, w, whole, depth) }); err != nil {
			return err
		}
	}
	if whole && len(want) > 0 {
		return fmt.Errorf("%q is missing", want[0].Name)
	}
	return nil
}

// advance returns the fields after the one that fits, which must be the first one if nothing was lost.
func advance(want []node, whole bool, fits func(node) error) ([]node, error) {
	err := errors.New("a field too many")
	for i, w := range want {
		if err = fits(w); err == nil {
			return want[i+1:], nil
		}
		if whole {
			break
		}
	}
	return nil, err
}

// compareNode returns how a field differs from the wanted one, or from what may remain of it.
func compareNode(got, want node, whole bool, depth int) error {
	if got.Name != want.Name || got.Tag != want.Tag {
		return fmt.Errorf("field %q where %q should be", got.Name, want.Name)
	}
	if _, ok := want.Value.([]node); ok && depth >= maxNesting {
		return compareJSON(got, whole)
	}
	plain := typeOf(want.Type.encoding(), formatUTFBOM)
	switch f := want.Type.format(); {
	case want.Type.encoding() == encStruct && got.Type.encoding() == encStruct:
	case got.Type == want.Type:
	case !whole && got.Type == plain && (f == formatXML || f == FormatJSON):
	default:
		return fmt.Errorf("field %q has type %v", got.Name, got.Type)
	}
	if err := compareValue(got.Value, want.Value, whole, depth); err != nil {
		return fmt.Errorf("field %q: %w", got.Name, err)
	}
	return nil
}

// compareJSON returns how a field differs from JSON, or from what may remain of it.
func compareJSON(got node, whole bool) error {
	value, ok := got.Value.(string)
	switch {
	case ok && got.Type == typeJSON && json.Valid([]byte(value)):
	case ok && !whole && got.Type == typeOf(encString8, formatUTFBOM) && (value == "" || strings.HasSuffix(value, text.CutMark)):
	default:
		return fmt.Errorf("field %q is not JSON: %v", got.Name, got.Value)
	}
	return nil
}

func compareValue(got, want any, whole bool, depth int) error {
	same := false
	switch want := want.(type) {
	case []node:
		got, ok := got.([]node)
		if !ok {
			break
		}
		return compare(got, want, whole, depth+1)
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) > len(want) || whole && len(got) < len(want) {
			break
		}
		for i := range got {
			if err := compareValue(got[i], want[i], whole, depth); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		}
		return nil
	case []byte:
		got, ok := got.([]byte)
		same = ok && (len(got) == len(want) || !whole && len(got) < len(want)) && slices.Equal(got, want[:len(got)])
	case string:
		got, ok := got.(string)
		same = ok && (got == want || !whole && isCut(got, want))
	default:
		same = got == want
	}
	if !same {
		return fmt.Errorf("%.100q where %.100q should be", fmt.Sprint(got), fmt.Sprint(want))
	}
	return nil
}

// escape is one escape of a plain text or of JSON.
var escape = regexp.MustCompile(`^\\(x[0-9a-f]{2}|ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|u[0-9a-fA-F]{4}|U[0-9a-f]{8}|(?s:.))`)

// isCut reports whether a text is what may remain of another: a part that ends between two characters or escapes,
// and the mark.
func isCut(got, want string) bool {
	head, ok := strings.CutSuffix(got, text.CutMark)
	if !ok || !strings.HasPrefix(want, head) {
		return got == ""
	}
	at := 0
	for at < len(head) {
		n := 1
		if want[at] == '\\' {
			n = max(n, len(escape.FindString(want[at:])))
		}
		at += n
	}
	return at == len(head) && utf8.ValidString(head)
}

func TestIsCut(t *testing.T) {
	want := `a\nb\\\x1bü\u202e\"\\n end`
	for _, head := range []string{"", `a`, `a\n`, `a\nb`, `a\nb\\`, `a\nb\\\x1b`, `a\nb\\\x1bü`, `a\nb\\\x1bü\u202e`, `a\nb\\\x1bü\u202e\"`, `a\nb\\\x1bü\u202e\"\\`} {
		assert.True(t, isCut(head+text.CutMark, want), head)
	}
	for _, head := range []string{`a\`, `a\nb\`, `a\nb\\\`, `a\nb\\\x1`, `a\nb\\\x1b` + "\xc3", `a\nb\\\x1bü\u202`, `a\nb\\\x1bü\u202e\`, `b`} {
		assert.False(t, isCut(head+text.CutMark, want), head)
	}
	for head, whole := range map[string]bool{``: true, `\udb40\udc41`: true, `\udb40`: false, `\udb40\u`: false, `\udb40\udc41 e`: true} {
		assert.Equal(t, whole, isCut(head+text.CutMark, `\udb40\udc41 end`), head)
	}
	for head, whole := range map[string]bool{`\U000e0041`: true, `\U000e`: false} {
		assert.Equal(t, whole, isCut(head+text.CutMark, `\U000e0041 end`), head)
	}
	assert.False(t, isCut("a", want), "no mark")
	assert.True(t, isCut("", want))
}
