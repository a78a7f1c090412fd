package typed_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/tracepoint"
)

func TestFieldName(t *testing.T) {
	tests := []struct{ in, want string }{
		{"status", "status"},
		{"Status_2", "Status_2"},
		{"_private", "_private"},
		{"http.request.method", "http_request_method"},
		{"http.response.status_code", "http_response_status_code"},
		{"user-agent", "user_agent"},
		{"user agent", "user_agent"},
		{"a/b:c=d;e", "a_b_c_d_e"},
		{"a\nb\x00c", "a_b_c"},
		{"größe", "gru00f6u00dfe"},
		{"名前", "u540du524d"},
		{"🙂", "u1f642"},
		{"\x7f\u0080", "_u0080"},
		{"azAZ09.", "azAZ09_"},
		{"9", "_9"},
		{strings.Repeat("x", 63) + ".", strings.Repeat("x", 63) + "_"},
		{"a\xffb", "aufffdb"},
		{"", "_"},
		{"2xx", "_2xx"},
		{".2xx", "_2xx"},
		{"common_pid", "_common_pid"},
		{"common.pid", "_common_pid"},
		{"common", "common"},
		{strings.Repeat("x", 64), strings.Repeat("x", 64)},
		{strings.Repeat("x", 65), strings.Repeat("x", 55) + "_b42b1787"},
		{strings.Repeat("x", 66), strings.Repeat("x", 55) + "_9ed6c66d"},
		{strings.Repeat("名", 20), strings.Repeat("u540d", 11) + "_3cb232b5"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, typed.FieldName(tt.in), "%q", tt.in)
	}
}

func TestFieldNames(t *testing.T) {
	tests := []struct{ in, want []string }{
		{nil, []string{}},
		{[]string{"a.b", "c"}, []string{"a_b", "c"}},
		{[]string{"a.b", "a.b"}, []string{"a_b", "a_b"}},
		{[]string{"a.b", "a_b"}, []string{"a_b_108bf50c", "a_b"}},
		{[]string{"a_b", "a.b"}, []string{"a_b", "a_b_108bf50c"}},
		{[]string{"a.b", "a-b"}, []string{"a_b_108bf50c", "a_b_2a89df63"}},
		{[]string{"", "_", "."}, []string{"__811c9dc5", "_", "__2b0c98f1"}},
		// The name with the hash is taken by a field that is called so.
		{[]string{"a.b", "a_b", "a_b_108bf50c"}, []string{"a_b_1852c1e4", "a_b", "a_b_108bf50c"}},
		// And so are the next two.
		{
			[]string{"a.b", "a_b", "a_b_108bf50c", "a_b_1852c1e4", "a_b_2e4739ec"},
			[]string{"a_b_c6202e84", "a_b", "a_b_108bf50c", "a_b_1852c1e4", "a_b_2e4739ec"},
		},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, typed.FieldNames(tt.in...), "%q", tt.in)
	}
}

func TestFieldNamesOfLongNames(t *testing.T) {
	long := strings.Repeat("x", 100)
	names := typed.FieldNames(long+"a", long+"b", strings.Repeat("x", 64), strings.Repeat("x", 63)+".", strings.Repeat("x", 63)+"-")
	slices.Sort(names)
	assert.Len(t, slices.Compact(names), 5)
	for _, name := range names {
		assert.LessOrEqual(t, len(name), typed.MaxFieldName)
	}
}

func FuzzFieldNames(f *testing.F) {
	f.Add("a.b", "a_b", "a-b")
	f.Add("", "_", "\xff")
	f.Add("a.b", "a_b", "a_b_108bf50c")
	f.Add("größe", "common_", "0")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		names := []string{a, b, c}
		fields := typed.FieldNames(names...)
		for i := range names {
			for j := range names {
				require.Equal(t, names[i] == names[j], fields[i] == fields[j], "%q %q", names, fields)
			}
			d := tracepoint.Declaration{Name: "event", Fields: []tracepoint.Field{{Name: fields[i], Type: tracepoint.Scalar(tracepoint.U8)}}}
			require.NoError(t, d.Validate())
			require.Equal(t, typed.FieldNames(fields[i])[0], fields[i], "a field name stays what it is")
		}
		slices.Reverse(names)
		reversed := typed.FieldNames(names...)
		slices.Reverse(reversed)
		require.Equal(t, fields, reversed, "the order makes no difference")
	})
}
