package eventheader

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/tracepoint"
)

func TestNames(t *testing.T) {
	tests := map[string]Name{
		"Provider_L5K1":            {Provider: "Provider", Level: LevelVerbose, Keyword: 1},
		"p_L1K0":                   {Provider: "p", Level: LevelCritical},
		"_L4K0":                    {Provider: "", Level: LevelInfo},
		"my_L5K2_L4Kff":            {Provider: "my_L5K2", Level: LevelInfo, Keyword: 0xff},
		"p_L4Kffffffffffffffff":    {Provider: "p", Level: LevelInfo, Keyword: math.MaxUint64},
		"p_L4K0Ggroup":             {Provider: "p", Level: LevelInfo, Options: "Ggroup"},
		"p_L4K1Aa1Ggroup9":         {Provider: "p", Level: LevelInfo, Keyword: 1, Options: "Aa1Ggroup9"},
		"with-dash and space_L4K0": {Provider: "with-dash and space", Level: LevelInfo},
		"p_LffK0":                  {Provider: "p", Level: 0xff},
		"p_L9Kaf90":                {Provider: "p", Level: 9, Keyword: 0xaf90},
		"p_L4K0Gaz09AZ":            {Provider: "p", Level: LevelInfo, Options: "Gaz09AZ"},

		strings.Repeat("p", 250) + "_L5K1": {Provider: strings.Repeat("p", 250), Level: LevelVerbose, Keyword: 1},
	}
	for s, want := range tests {
		got, err := ParseName(s)
		require.NoError(t, err, s)
		assert.Equal(t, want, got)
		assert.Equal(t, s, got.String())
	}
}

func TestParseNameIsLenient(t *testing.T) {
	tests := map[string]Name{
		"p_L04K01": {Provider: "p", Level: LevelInfo, Keyword: 1},
		"p_LK":     {Provider: "p"},
		"p_L5KFF":  {Provider: "p", Level: LevelVerbose, Options: "FF"},
		"p_L4K0ZA": {Provider: "p", Level: LevelInfo, Options: "ZA"},
	}
	for s, want := range tests {
		got, err := ParseName(s)
		require.NoError(t, err, s)
		assert.Equal(t, want, got)
	}
}

func TestParseNameRefuses(t *testing.T) {
	tests := map[string]decodeError{
		"":                                 {"name", 0, "no _L followed by a level"},
		"p":                                {"name", 0, "no _L followed by a level"},
		"p_":                               {"name", 2, "no level of two hexadecimal digits at most"},
		"p_K1":                             {"name", 2, "no level of two hexadecimal digits at most"},
		"p_L123K1":                         {"name", 2, "no level of two hexadecimal digits at most"},
		"p_L5":                             {"name", 4, "no keyword of 16 hexadecimal digits at most"},
		"p_L5k1":                           {"name", 4, "no keyword of 16 hexadecimal digits at most"},
		"p_L5K" + strings.Repeat("1", 17):  {"name", 4, "no keyword of 16 hexadecimal digits at most"},
		"p_L5K1g":                          {"name", 6, "malformed options"},
		"p_L5K1G-":                         {"name", 6, "malformed options"},
		"p_L5K1 ":                          {"name", 6, "malformed options"},
		"p\x00_L5K1":                       {"name", 1, "contains a NUL"},
		"\x00_L5K1":                        {"name", 0, "contains a NUL"},
		strings.Repeat("p", 251) + "_L5K1": {"name", 255, "longer than 255 bytes"},
	}
	for s, want := range tests {
		got, err := ParseName(s)
		assert.Equal(t, Name{}, got)
		var detail *decodeError
		require.ErrorAs(t, err, &detail, s)
		assert.Equal(t, want, *detail, s)
	}
}

func TestNameValidate(t *testing.T) {
	long := strings.Repeat("p", 233)
	tests := []struct {
		name Name
		want string // part of the error, or "" for none
	}{
		{Name{Provider: "p", Level: LevelInfo}, ""},
		{Name{Provider: "_P9", Level: LevelCritical, Keyword: math.MaxUint64, Options: "Aa1Gg"}, ""},
		{Name{Provider: "azAZ09", Level: LevelInfo, Options: "Aaz09Z"}, ""},
		{Name{Provider: "p", Level: LevelInfo, Options: "ZZ"}, `options "ZZ"`},
		{Name{Provider: long, Level: LevelVerbose, Keyword: math.MaxUint64}, ""},
		{Name{Provider: long, Level: LevelVerbose, Options: "G"}, "234 bytes long, the limit is 233"},
		{Name{Level: LevelInfo}, `provider name ""`},
		{Name{Provider: "9p", Level: LevelInfo}, `provider name "9p"`},
		{Name{Provider: "a-b", Level: LevelInfo}, `provider name "a-b"`},
		{Name{Provider: "größe", Level: LevelInfo}, `provider name "größe"`},
		{Name{Provider: "p"}, "level 0 is not between 1 and 5"},
		{Name{Provider: "p", Level: 6}, "level 6"},
		{Name{Provider: "p", Level: LevelInfo, Options: "g"}, `options "g"`},
		{Name{Provider: "p", Level: LevelInfo, Options: "GA"}, `options "GA"`},
		{Name{Provider: "p", Level: LevelInfo, Options: "GG"}, `options "GG"`},
		{Name{Provider: "p", Level: LevelInfo, Options: "G_"}, `options "G_"`},
	}
	for _, tt := range tests {
		err := tt.name.validate()
		d, declared := tt.name.Declaration()
		assert.Equal(t, err, declared)
		if tt.want == "" {
			assert.NoError(t, err)
			back, err := ParseName(d.Name)
			require.NoError(t, err)
			assert.Equal(t, tt.name, back)
			continue
		}
		assert.ErrorIs(t, err, errInvalid)
		assert.ErrorContains(t, err, tt.want)
	}
}

// Producers in other languages register exactly this; kernels before 6.10 compare the texts.
func TestDeclaration(t *testing.T) {
	d, err := Name{Provider: "p", Level: LevelInfo}.Declaration()
	require.NoError(t, err)
	assert.Equal(t, "p_L4K0 u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level", d.String())
	assert.True(t, IsDeclaration(d))

	// The caller may change it.
	d.Fields[0].Name = "x"
	assert.False(t, IsDeclaration(d))
	d, err = Name{Provider: "p", Level: LevelInfo}.Declaration()
	require.NoError(t, err)
	assert.True(t, IsDeclaration(d))
	assert.False(t, IsDeclaration(tracepoint.Declaration{Name: "p_L4K0"}))
}

func TestUUIDString(t *testing.T) {
	assert.Equal(t, "00010203-0405-0607-0809-0a0b0c0d0e0f", sequence(0).String())
}
