package tracefs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

func TestParseMounts(t *testing.T) {
	const text = `22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
24 22 0:23 / /sys/kernel/tracing rw,nosuid,nodev shared:9 master:2 - tracefs tracefs rw
25 22 0:7 / /sys/kernel/debug ro,relatime - debugfs debugfs rw
26 22 0:23 /user_events_data /run/my\040dir/data rw - tracefs tracefs rw
27 22 0:23 /events /mnt/events rw - tracefs tracefs rw
`
	mounts, err := tracefs.ParseMounts(strings.NewReader(text))
	require.NoError(t, err)
	require.Len(t, mounts, 5)
	type want struct {
		dir, file string
		readOnly  bool
	}
	for i, w := range []want{
		{},
		{"/sys/kernel/tracing", "/sys/kernel/tracing/user_events_data", false},
		{"/sys/kernel/debug/tracing", "/sys/kernel/debug/tracing/user_events_data", true},
		{"", "/run/my dir/data", false},
		{},
	} {
		dir, isDir := mounts[i].Tracefs()
		file, isFile := mounts[i].DataFile()
		assert.Equal(t, w.dir, dir, i)
		assert.Equal(t, w.dir != "", isDir, i)
		assert.Equal(t, w.file != "", isFile, i)
		if isFile {
			assert.Equal(t, w.file, file, i)
		}
		assert.Equal(t, w.readOnly, mounts[i].ReadOnly(), i)
	}
	for _, bad := range []string{"x\n", "1 2 3 / /mnt - tracefs\n", "24 22 0:23 / /sys rw - \n"} {
		_, err := tracefs.ParseMounts(strings.NewReader(bad))
		assert.Error(t, err, bad)
	}
}

func TestParseStatus(t *testing.T) {
	current, err := tracefs.ParseStatus(strings.NewReader("one # Used by ftrace perf\ntwo\n\nActive: 2\nBusy: 1\n"))
	require.NoError(t, err)
	assert.Equal(t, &tracefs.Status{
		Events: []tracefs.EventStatus{{Name: "one", Index: -1, UsedBy: []string{"ftrace", "perf"}}, {Name: "two", Index: -1}},
		Active: 2, Busy: 1,
	}, current)

	old, err := tracefs.ParseStatus(strings.NewReader("1:one # Used by other\n12:two\n\nActive: 2\nBusy: 1\nMax: 32768\nLater: x\n"))
	require.NoError(t, err)
	assert.Equal(t, &tracefs.Status{
		Events: []tracefs.EventStatus{{Name: "one", Index: 1, UsedBy: []string{"other"}}, {Name: "two", Index: 12}},
		Active: 2, Busy: 1, Max: 32768,
	}, old)

	for _, bad := range []string{"", "one\n", "x:one\n\nActive: 0\n", "one\n\nActive: many\n", "\n\n # Used by ftrace\nActive: 0", " #\n\n"} {
		_, err := tracefs.ParseStatus(strings.NewReader(bad))
		if bad == "\n\n # Used by ftrace\nActive: 0" {
			assert.NoError(t, err, "unknown lines among the totals are a later kernel's")
			continue
		}
		assert.Error(t, err, "%q", bad)
	}
}

func TestParseDynamicEvents(t *testing.T) {
	const text = `p:kprobes/p_vfs_read vfs_read
u:one u32 a; __rel_loc char[] b

# a comment
u:two # Used by ftrace
  u:three struct point p 8
s:latency u64 lat
u:bad-name long x
`
	decls, err := tracefs.ParseDynamicEvents(strings.NewReader(text))
	require.NoError(t, err)
	var names []string
	for _, d := range decls {
		names = append(names, d.Name)
	}
	assert.Equal(t, []string{"one", "two", "three", "bad-name"}, names)
	assert.Equal(t, "one u32 a; __rel_loc char[] b", decls[0].String())
	assert.Equal(t, tracepoint.StructOf("point", 8), decls[2].Fields[0].Type)
}

func FuzzParse(f *testing.F) {
	f.Add("1:one # Used by other\n\nActive: 2\nMax: 3\n")
	f.Add("24 22 0:23 / /a\\040b rw - tracefs tracefs rw\n")
	f.Add("u:one u32 a; __rel_loc char[] b\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := tracefs.ParseStatus(strings.NewReader(text)); (s == nil) == (err == nil) {
			t.Error("exactly one of status and error")
		}
		if m, err := tracefs.ParseMounts(strings.NewReader(text)); err != nil && m != nil {
			t.Error("mounts beside an error")
		}
		decls, err := tracefs.ParseDynamicEvents(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, d := range decls {
			if d.Validate() != nil {
				continue
			}
			again, err := tracefs.ParseDynamicEvents(strings.NewReader("u:" + d.String()))
			if err != nil || len(again) != 1 || !again[0].Equal(d) {
				t.Errorf("%v became %v, %v", d, again, err)
			}
		}
	})
}
