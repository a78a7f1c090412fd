package ueventstest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/errno"
)

func TestSplitCommand(t *testing.T) {
	tests := []struct {
		text string
		want command
	}{
		{"", command{}},
		{"ev", command{name: "ev"}},
		{"ev ", command{name: "ev"}},
		{"ev u32 a; u8 b", command{name: "ev", args: "u32 a; u8 b"}},
		{" ev u32 a", command{args: "ev u32 a"}},
		{"ev\tu32 a", command{name: "ev\tu32", args: "a"}},
		{"ev:", command{name: "ev", flags: true}},
		{"ev:x,y u32 a", command{name: "ev", args: "u32 a", flags: true}},
		{"ev u32 a:b", command{name: "ev", args: "u32 a:b"}},
		{"a/b.c-d e", command{name: "a/b.c-d", args: "e"}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			assert.Equal(t, tt.want, splitCommand(tt.text))
		})
	}
}

func TestUserString(t *testing.T) {
	longest := strings.Repeat("x", 511)
	got, err := userString(longest)
	assert.NoError(t, err)
	assert.Equal(t, longest, got)

	_, err = userString(longest + "x")
	assert.ErrorIs(t, err, errno.EINVAL)

	got, err = userString("ev u32 a\x00" + longest)
	assert.NoError(t, err, "what follows a NUL is never read")
	assert.Equal(t, "ev u32 a", got)
}

func TestWords(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"", nil},
		{" \t\n\v\f\r", nil},
		{"a", []string{"a"}},
		{"  a\tb\n\nc ", []string{"a", "b", "c"}},
		{"a\xa0b", []string{"a", "b"}},
		{"a;b", []string{"a;b"}},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, words(tt.text), "%q", tt.text)
	}
}

func TestFieldWords(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"", nil},
		{"u32 a;u8 b", []string{"u32", "a;", "u8", "b"}},
		{"u32 a; u8 b;", []string{"u32", "a;", "u8", "b;"}},
		{"u32 a ;u8 b", []string{"u32", "a", ";", "u8", "b"}},
		{"u32 a;;", []string{"u32", "a;", ";"}},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, fieldWords(tt.text), "%q", tt.text)
	}
}

func TestParseUint(t *testing.T) {
	tests := []struct {
		text string
		base int
		want uint32
		ok   bool
	}{
		{"20", 0, 20, true},
		{"20", 10, 20, true},
		{"0x14", 0, 20, true},
		{"0X1f", 0, 31, true},
		{"024", 0, 20, true},
		{"024", 10, 24, true},
		{"0", 0, 0, true},
		{"+7", 0, 7, true},
		{"7\n", 10, 7, true},
		{"4294967295", 10, 1<<32 - 1, true},
		{"4294967296", 10, 0, false},
		{"", 0, 0, false},
		{"", 10, 0, false},
		{"+", 0, 0, false},
		{"++7", 0, 0, false},
		{"-1", 0, 0, false},
		{"7\n\n", 10, 0, false},
		{"7 ", 10, 0, false},
		{"0x", 0, 0, false},
		{"0xg", 0, 0, false},
		{"0x14", 10, 0, false},
		{"08", 0, 0, false},
		{"aa", 0, 0, false},
		{"0b1", 0, 0, false},
		{"0o7", 0, 0, false},
		{"1_0", 0, 0, false},
	}
	for _, tt := range tests {
		got, ok := parseUint(tt.text, tt.base)
		assert.Equal(t, tt.ok, ok, "%q base %d", tt.text, tt.base)
		if tt.ok {
			assert.Equal(t, tt.want, got, "%q base %d", tt.text, tt.base)
		}
	}
}
