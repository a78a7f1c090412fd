package tracefs

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/errno"
)

func TestCommand(t *testing.T) {
	for _, c := range []struct{ command, name, canonical command }{
		{"one", "one", "one"},
		{"one u32 a; u8 b", "one", "one u32 a; u8 b"},
		{"one  u32 a;u8\tb", "one", "one u32 a; u8 b"},
		{"bad-name long x", "bad-name", "bad-name long x"},
	} {
		assert.EqualValues(t, c.name, c.command.name())
		assert.Equal(t, c.canonical, c.command.canonical())
	}
}

func TestConflicts(t *testing.T) {
	have := []command{"one u32 a; u8 b", "two", "several u32 a", "several u64 a"}
	for _, c := range []struct {
		name    string
		created []command
		want    []string // what the error names
	}{
		{"nothing created", nil, nil},
		{"all there", []command{"two", "one u32 a; u8 b"}, nil},
		{"spelled by a person", []command{"one u32  a;u8 b"}, nil},
		{"one of several formats", []command{"several u64 a"}, nil},
		{"removed since", []command{"three u32 a"}, nil},
		{"other fields", []command{"one u64 a", "two u8 a", "several u8 a", "two"}, []string{`"one u64 a": there is "one u32 a; u8 b"`, `"two u8 a"`, `"several u8 a"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := conflicts(have, c.created)
			if c.want == nil {
				assert.NoError(t, err)
				return
			}
			assert.ErrorIs(t, err, errno.EADDRINUSE)
			for _, want := range c.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

// TestLongCommand: an error says which line of a file it is about.
func TestLongCommand(t *testing.T) {
	_, err := parseCommands(strings.NewReader("u:a u32 n\n\nu:" + strings.Repeat("x", 1<<17)))
	assert.ErrorIs(t, err, bufio.ErrTooLong)
	assert.ErrorContains(t, err, "reading line 3 of user events")
}
