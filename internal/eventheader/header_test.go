package eventheader

import (
	"encoding/hex"
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
		{Name{Provider: long, Level: LevelVerbose, Keyword: math.MaxUint64}, ""},
		{Name{Provider: long, Level: LevelVerbose, Options: "G"}, "234 bytes long, the limit is 233"},
		{Name{Level: LevelInfo}, `provider name ""`},
		{Name{Provider: "9p", Level: LevelInfo}, `provider name "9p"`},
		{Name{Provider: "a-b", Level: LevelInfo}, `provider name "a-b"`},
		{Name{Provider: "größe", Level: LevelInfo}, `provider name "größe"`},
		{Name{Provider: "p"}, "level 0 is not between 1 and 5"},
		{Name{Provider: "p", Level: 6}, "level 6"},
		{Name{Provider: "p", Level: LevelInfo, Options: "g"}, `options "g"`},
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

// unhex returns the bytes of a listing in hexadecimal. What follows a # in a line is left out.
func unhex(t testing.TB, listing string) []byte {
	var digits strings.Builder
	for line := range strings.Lines(listing) {
		line, _, _ = strings.Cut(line, "#")
		for word := range strings.FieldsSeq(line) {
			digits.WriteString(word)
		}
	}
	b, err := hex.DecodeString(digits.String())
	require.NoError(t, err)
	return b
}

// sequence returns a UUID of ascending bytes.
func sequence(first byte) (u UUID) {
	for i := range u {
		u[i] = first + byte(i)
	}
	return u
}

// worked are events whose bytes and meaning the C++, Rust and Go decoders of
// LinuxTracepoints agree about.
var worked = []struct {
	name   string
	tp     string
	bytes  string
	json   string
	encode func(t testing.TB) []byte // nil where an Encoder does not write such fields
}{
	{
		name: "struct, tags and array",
		tp:   "TestProviderC_L4K85",
		bytes: `07 0b e8 03 34 12 03 04
			27 00 01 00 43 53 63 61 6c 61 72 73 33 00      # CScalars3
			53 74 72 75 63 74 32 30 00 81 94 ef be         # Struct20
			68 69 00 87 8a 12 00 63 68 31 30 00 c2 8a 10 00
			68 69 00 03 00 48 6f 77`,
		json: `{"n":"TestProviderC:CScalars3","Struct20;tag=0xBEEF":{"hi;tag=0x12":"hi","ch10;tag=0x10":["H","o","w"]},` +
			`"meta":{"id":1000,"version":11,"level":4,"keyword":"0x85","opcode":3,"tag":"0x1234"}}`,
	},
	{
		name: "activity ids",
		tp:   "TestProviderC_L5K0",
		bytes: `07 00 00 00 00 00 00 05
			20 00 02 80
			01 02 03 04 05 06 07 08 01 02 03 04 05 06 07 08
			01 02 03 04 05 06 07 08 01 02 03 04 05 06 07 08
			0b 00 01 00 54 72 61 6e 73 66 65 72 31 31 00   # Transfer11`,
		json: `{"n":"TestProviderC:Transfer11","meta":{"level":5,"activity":"01020304-0506-0708-0102-030405060708",` +
			`"relatedActivity":"01020304-0506-0708-0102-030405060708"}}`,
		encode: func(testing.TB) []byte {
			id := UUID{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}
			r := raw{order: orderOf(flagLittleEndian)}
			return r.event(Header{Name: "Transfer11", Level: LevelVerbose, arch: little64}, id, id)
		},
	},
	{
		name: "log record in Common Schema",
		tp:   "myprovider_L2K1",
		bytes: `07 00 00 00 00 00 00 02
			8a 00 01 00 4c 6f 67 00                              # Log
			5f 5f 63 73 76 65 72 5f 5f 00 84 01                  # __csver__
			50 61 72 74 41 00 81 03                              # PartA
			74 69 6d 65 00 0a                                    # time
			65 78 74 5f 64 74 5f 74 72 61 63 65 49 64 00 0a      # ext_dt_traceId
			65 78 74 5f 64 74 5f 73 70 61 6e 49 64 00 0a         # ext_dt_spanId
			50 61 72 74 43 00 81 02                              # PartC
			63 6f 75 6e 74 00 85 02                              # count
			6f 6b 00 82 07                                       # ok
			50 61 72 74 42 00 81 04                              # PartB
			5f 74 79 70 65 4e 61 6d 65 00 0a                     # _typeName
			62 6f 64 79 00 0a                                    # body
			73 65 76 65 72 69 74 79 4e 75 6d 62 65 72 00 83 02   # severityNumber
			73 65 76 65 72 69 74 79 54 65 78 74 00 0a            # severityText
			00 04 00 00
			18 00 32 30 32 34 2d 30 31 2d 30 31 54 31 32 3a 33 34 3a 35 36 2e 37 38 39 5a
			20 00 30 61 66 37 36 35 31 39 31 36 63 64 34 33 64 64 38 34 34 38 65 62 32 31 31 63 38 30 33 31 39 63
			10 00 30 30 66 30 36 37 61 61 30 62 61 39 30 32 62 37
			2a 00 00 00 00 00 00 00 01
			03 00 4c 6f 67 02 00 68 69 11 00 05 00 45 52 52 4f 52`,
		json: `{"n":"myprovider:Log","__csver__":1024,"PartA":{"time":"2024-01-01T12:34:56.789Z",` +
			`"ext_dt_traceId":"0af7651916cd43dd8448eb211c80319c","ext_dt_spanId":"00f067aa0ba902b7"},` +
			`"PartC":{"count":42,"ok":true},"PartB":{"_typeName":"Log","body":"hi","severityNumber":17,"severityText":"ERROR"},` +
			`"meta":{"level":2,"keyword":"0x1"}}`,
		encode: func(t testing.TB) []byte {
			var e Encoder
			e.Begin(nil, &Header{Name: "Log", Level: LevelError, arch: little64}, 0)
			e.Value("__csver__", typeOf(encValue32, FormatUnsigned), 0x400)
			e.BeginStruct("PartA")
			e.String("time", "2024-01-01T12:34:56.789Z")
			e.String("ext_dt_traceId", "0af7651916cd43dd8448eb211c80319c")
			e.String("ext_dt_spanId", "00f067aa0ba902b7")
			e.EndStruct()
			e.BeginStruct("PartC")
			e.Int64("count", 42)
			e.Bool("ok", true)
			e.EndStruct()
			e.BeginStruct("PartB")
			e.String("_typeName", "Log")
			e.String("body", "hi")
			e.Value("severityNumber", TypeInt16, 17)
			e.String("severityText", "ERROR")
			e.EndStruct()
			return end(t, &e)
		},
	},
	{
		name: "each kind of array, null and JSON",
		tp:   "app_L4Kff",
		bytes: `07 01 05 00 00 00 01 04
			20 00 02 80
			10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f 20 21 22 23 24 25 26 27 28 29 2a 2b 2c 2d 2e 2f
			29 00 01 00 52 65 71 00                              # Req
			69 64 73 00 c5 02                                    # ids
			72 67 62 00 22 03 00                                 # rgb
			6e 00 8d 02                                          # n
			74 61 67 73 00 4a                                    # tags
			65 6d 70 74 79 00 4a                                 # empty
			6a 73 6f 6e 00 8a 0e                                 # json
			02 00 01 00 00 00 00 00 00 00 ff ff ff ff ff ff ff ff
			01 02 03
			00 00
			02 00 01 00 61 02 00 c3 a9
			00 00
			07 00 7b 22 61 22 3a 31 7d`,
		json: `{"n":"app:Req","ids":[1,-1],"rgb":[1,2,3],"n":null,"tags":["a","é"],"empty":[],"json":"{\"a\":1}",` +
			`"meta":{"id":5,"version":1,"level":4,"keyword":"0xFF","opcode":1,` +
			`"activity":"10111213-1415-1617-1819-1a1b1c1d1e1f","relatedActivity":"20212223-2425-2627-2829-2a2b2c2d2e2f"}}`,
	},
	{
		name:  "big-endian with 32-bit pointers",
		tp:    "be_L5K0",
		bytes: `04 00 01 02 00 00 00 05 00 05 00 01 45 00 76 00 04 01 02 03 04`,
		json:  `{"n":"be:E","v":16909060,"meta":{"id":258,"level":5}}`,
		encode: func(t testing.TB) []byte {
			var e Encoder
			e.Begin(nil, &Header{Name: "E", Level: LevelVerbose, ID: 258, arch: big32}, 0)
			e.Value("v", typeUint32, 16909060)
			return end(t, &e)
		},
	},
	{
		name:  "no fields",
		tp:    "app_L5K0",
		bytes: `07 00 00 00 00 00 00 05 06 00 01 00 45 6d 70 74 79 00`,
		json:  `{"n":"app:Empty","meta":{"level":5}}`,
		encode: func(t testing.TB) []byte {
			var e Encoder
			e.Begin(nil, &Header{Name: "Empty", Level: LevelVerbose, arch: little64}, 0)
			return end(t, &e)
		},
	},
	{
		name: "array of structs",
		tp:   "app_L4K0",
		bytes: `07 00 00 00 00 00 00 04 0e 00 01 00 53 00 65 76 00 c1 02 6e 00 0a 76 00 85 02
			02 00 01 00 78 01 00 00 00 00 00 00 00 01 00 79 02 00 00 00 00 00 00 00`,
		json: `{"n":"app:S","ev":[{"n":"x","v":1},{"n":"y","v":2}],"meta":{"level":4}}`,
	},
}

func end(t testing.TB, e *Encoder) []byte {
	b, err := e.End()
	require.NoError(t, err)
	return b
}

func TestWorkedExamples(t *testing.T) {
	for _, tt := range worked {
		t.Run(tt.name, func(t *testing.T) {
			want := unhex(t, tt.bytes)
			if tt.encode != nil {
				assert.Equal(t, hex.EncodeToString(want), hex.EncodeToString(tt.encode(t)))
			}

			ev, err := Decode(tt.tp, want)
			require.NoError(t, err)
			got, err := ev.appendJSON([]byte("x"))
			require.NoError(t, err)
			assert.Equal(t, "x"+tt.json, string(got))

			// perf pads records to 8 bytes.
			ev, err = Decode(tt.tp, append(want, make([]byte, 7)...))
			require.NoError(t, err)
			got, err = ev.appendJSON(nil)
			require.NoError(t, err)
			assert.Equal(t, tt.json, string(got))
		})
	}
}

// TestWorkedExamplesCutShort checks that no prefix of an event is read beyond its end.
func TestWorkedExamplesCutShort(t *testing.T) {
	for _, tt := range worked {
		b := unhex(t, tt.bytes)
		for n := range b {
			ev, err := Decode(tt.tp, b[:n:n])
			if err == nil {
				_, err = ev.tree()
			}
			assert.ErrorIs(t, err, errMalformed, "%s: %d of %d bytes", tt.name, n, len(b))
		}
	}
}
