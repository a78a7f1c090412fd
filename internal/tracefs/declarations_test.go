package tracefs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
)

func TestParseDynamicEvents(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string // declarations in command syntax
	}{
		{"nothing", "", nil},
		{"as the kernel lists them", "u:one u32 a; __rel_loc char[] b\nu:two\n", []string{"one u32 a; __rel_loc char[] b", "two"}},
		{"struct, array, unsigned", "u:e struct point p 8; unsigned char[4] c; unsigned int n\n", []string{"e struct point p 8; unsigned char[4] c; unsigned int n"}},
		{
			"other kinds of events",
			"p:kprobes/p_vfs_read vfs_read\nr4:kprobes/r_x vfs_read\np:uprobes/p_bin /bin/ls:0x1000\ns:latency u64 lat\ne:eprobes/e sched.sched_switch\nf:fprobes/f vfs_read\nu:one\nunknown\n",
			[]string{"one"},
		},
		{"comments and blank lines", "# u:no\n\n \t\nu:one # Used by ftrace\nu:two u32 a # Used by ftrace perf\n", []string{"one", "two u32 a"}},
		{"white space of a person", "  u:one   u32  a;u32 b ;\nu: two\n", []string{"one u32 a; u32 b", "two"}},
		{"no newline at the end", "u:one u32 a", []string{"one u32 a"}},
		{"a prefix and nothing", "u:\nu: \nu:#x\n", nil},
		{"several formats of a name", "u:one u32 a\nu:one u64 b\n", []string{"one u32 a", "one u64 b"}},
		{"what this library would not register", "u:bad-name u32 a\nu:one u32 a; long b; u32 c\n", []string{"bad-name u32 a", "one u32 a"}},
		{"commands to delete", "-:user_events/one\n!u:two\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			decls, err := tracefs.ParseDynamicEvents(strings.NewReader(c.text))
			require.NoError(t, err)
			var got []string
			for _, d := range decls {
				got = append(got, d.String())
			}
			assert.Equal(t, c.want, got)
		})
	}
	decls, err := tracefs.ParseDynamicEvents(strings.NewReader("u:e struct point p 8; __data_loc char[] s\n"))
	require.NoError(t, err)
	require.Len(t, decls, 1)
	assert.Equal(t, []tracepoint.Field{
		{Name: "p", Type: tracepoint.StructOf("point", 8)},
		{Name: "s", Type: tracepoint.Dynamic(tracepoint.Char)},
	}, decls[0].Fields)
	_, err = tracefs.ParseDynamicEvents(failingReader{})
	assert.ErrorIs(t, err, errReading)
}
