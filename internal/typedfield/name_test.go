package typedfield_test

import (
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

// FuzzFieldName: the result is the name of a field, within its length, and stays what it is.
func FuzzFieldName(f *testing.F) {
	for _, name := range []string{"a.b", "", "_", "\xff", "größe", "common_", "0", strings.Repeat("x", 65)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		field := typed.FieldName(name)
		d := tracepoint.Declaration{Name: "event", Fields: []tracepoint.Field{{Name: field, Type: tracepoint.Scalar(tracepoint.U8)}}}
		require.NoError(t, d.Validate())
		require.LessOrEqual(t, len(field), typed.MaxFieldName)
		require.Equal(t, field, typed.FieldName(field))
	})
}
