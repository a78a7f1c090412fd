package chars

import (
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// ignorable is Unicode's Default_Ignorable_Code_Point, derived as DerivedCoreProperties.txt says: characters that are
// invisible where a font does not know better.
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Cf, unicode.Variation_Selector) &&
		!unicode.In(r, unicode.White_Space, unicode.Prepended_Concatenation_Mark) &&
		(r < 0xfff9 || r > 0xfffb) && (r < 0x13430 || r > 0x13440)
}

// needed reports whether ordinary text has r although it is ignorable: the joiners, and the variation selectors of
// Mongolian and of emoji.
func needed(r rune) bool {
	return r == 0x200c || r == 0x200d || r >= 0x180b && r <= 0x180d || r == 0x180f || r >= 0xfe00 && r <= 0xfe0f
}

// TestDeceptive compares all characters with Unicode's own properties.
func TestDeceptive(t *testing.T) {
	for r := rune(0x80); r <= unicode.MaxRune; r += rune(testscale.Count(1, 7)) {
		want := unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) ||
			ignorable(r) && !needed(r) || r >= 0xfff9 && r <= 0xfffb
		require.Equal(t, want, Deceptive(r), "%U", r)
	}
}
