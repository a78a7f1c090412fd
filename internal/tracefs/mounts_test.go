package tracefs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/tracefs"
)

func TestParseMounts(t *testing.T) {
	cases := []struct {
		name, line string
		mount      tracefs.Mount
		dir        string // of a whole tracefs
		file       string // the data file
	}{
		{
			"root", "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw",
			tracefs.Mount{Root: "/", Point: "/", Type: "ext4", Options: "rw,relatime"},
			"", "",
		},
		{
			"tracefs", "24 22 0:12 / /sys/kernel/tracing rw,nosuid,nodev,noexec,relatime shared:12 - tracefs tracefs rw",
			tracefs.Mount{Root: "/", Point: "/sys/kernel/tracing", Type: "tracefs", Options: "rw,nosuid,nodev,noexec,relatime"},
			"/sys/kernel/tracing", "/sys/kernel/tracing/user_events_data",
		},
		{
			"mounted by debugfs on access", "127 34 0:12 / /sys/kernel/debug/tracing rw,nosuid,nodev,noexec,relatime shared:71 - tracefs tracefs rw",
			tracefs.Mount{Root: "/", Point: "/sys/kernel/debug/tracing", Type: "tracefs", Options: "rw,nosuid,nodev,noexec,relatime"},
			"/sys/kernel/debug/tracing", "/sys/kernel/debug/tracing/user_events_data",
		},
		{
			"debugfs, read-only", "25 22 0:7 / /sys/kernel/debug ro,relatime - debugfs debugfs rw",
			tracefs.Mount{Root: "/", Point: "/sys/kernel/debug", Type: "debugfs", Options: "ro,relatime"},
			"/sys/kernel/debug/tracing", "/sys/kernel/debug/tracing/user_events_data",
		},
		{
			"read-only file system, writable mount: the mount counts", "25 22 0:12 / /t rw - tracefs tracefs ro",
			tracefs.Mount{Root: "/", Point: "/t", Type: "tracefs", Options: "rw"},
			"/t", "/t/user_events_data",
		},
		{
			"a container's one file", "911 886 0:12 /user_events_data /run/user_events/user_events_data rw,nosuid,nodev,noexec,relatime master:12 - tracefs tracefs rw",
			tracefs.Mount{Root: "/user_events_data", Point: "/run/user_events/user_events_data", Type: "tracefs", Options: "rw,nosuid,nodev,noexec,relatime"},
			"", "/run/user_events/user_events_data",
		},
		{
			"a part without the file", "27 22 0:12 /events /mnt/events rw - tracefs tracefs rw",
			tracefs.Mount{Root: "/events", Point: "/mnt/events", Type: "tracefs", Options: "rw"},
			"", "",
		},
		{
			"a part of debugfs", "27 22 0:7 /dri /mnt/dri rw - debugfs debugfs rw",
			tracefs.Mount{Root: "/dri", Point: "/mnt/dri", Type: "debugfs", Options: "rw"},
			"", "",
		},
		{
			"escaped white space", `28 22 0:12 / /a\040b\011c\012d rw shared:1 master:2 propagate_from:3 - tracefs tracefs rw`,
			tracefs.Mount{Root: "/", Point: "/a b\tc\nd", Type: "tracefs", Options: "rw"},
			"/a b\tc\nd", "/a b\tc\nd/user_events_data",
		},
		{
			"escaped backslash and number sign", `28 22 0:12 / /a\134040\043 rw - tracefs tracefs rw`,
			tracefs.Mount{Root: "/", Point: `/a\040#`, Type: "tracefs", Options: "rw"},
			`/a\040#`, `/a\040#/user_events_data`,
		},
		{
			"not an escape", `28 22 0:12 / /a\04 rw - tracefs tracefs rw`,
			tracefs.Mount{Root: "/", Point: `/a\04`, Type: "tracefs", Options: "rw"},
			`/a\04`, `/a\04/user_events_data`,
		},
		{
			"white space that the kernel does not escape", "28 22 0:12 / /a\u00a0b\vc rw - tracefs tracefs rw",
			tracefs.Mount{Root: "/", Point: "/a\u00a0b\vc", Type: "tracefs", Options: "rw"},
			"/a\u00a0b\vc", "/a\u00a0b\vc/user_events_data",
		},
		{
			"an option that ends in ro", "29 22 0:12 / /t rw,errors=remount-ro - tracefs tracefs rw",
			tracefs.Mount{Root: "/", Point: "/t", Type: "tracefs", Options: "rw,errors=remount-ro"},
			"/t", "/t/user_events_data",
		},
		{
			"overlay of many layers", "30 22 0:40 / /merged rw - overlay overlay rw,lowerdir=" + strings.Repeat("/var/lib/layer:", 20_000),
			tracefs.Mount{Root: "/", Point: "/merged", Type: "overlay", Options: "rw"},
			"", "",
		},
	}
	var all strings.Builder
	var want []tracefs.Mount
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			mounts, err := tracefs.ParseMounts(strings.NewReader(c.line + "\n"))
			require.NoError(t, err)
			require.Equal(t, []tracefs.Mount{c.mount}, mounts)
			dir, ok := mounts[0].Tracefs()
			assert.Equal(t, c.dir, dir)
			assert.Equal(t, c.dir != "", ok)
			file, ok := mounts[0].DataFile()
			assert.Equal(t, c.file, file)
			assert.Equal(t, c.file != "", ok)
		})
		all.WriteString(c.line + "\n")
		want = append(want, c.mount)
	}
	mounts, err := tracefs.ParseMounts(strings.NewReader(all.String()))
	require.NoError(t, err)
	assert.Equal(t, want, mounts)
}

func TestParseMountsMalformed(t *testing.T) {
	for _, line := range []string{
		"", "x", "24 22 0:12 / /t rw", "1 2 3 / /mnt - tracefs", "24 22 0:12 / /sys rw - ", "24 22 0:12 / /sys rw -tracefs tracefs rw",
		"24 22 0:12 /  rw shared:1 - tracefs tracefs rw",
	} {
		mounts, err := tracefs.ParseMounts(strings.NewReader("22 1 254:0 / / rw - ext4 /dev/vda rw\n" + line + "\n"))
		assert.ErrorContains(t, err, "malformed line", "%q", line)
		assert.Nil(t, mounts, "%q", line)
	}
	mounts, err := tracefs.ParseMounts(strings.NewReader(""))
	require.NoError(t, err)
	assert.Empty(t, mounts)
	_, err = tracefs.ParseMounts(failingReader{})
	assert.ErrorIs(t, err, errReading)
}

var errReading = errors.New("reading failed")

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errReading }

func TestParseStatus(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       tracefs.Status
	}{
		{
			"6.4 and later", "one # Used by ftrace perf\ntwo\nthree.1f # Used by ftrace perf other\n\nActive: 3\nBusy: 2\n",
			tracefs.Status{
				Events: []tracefs.EventStatus{
					{Name: "one", Index: -1, UsedBy: []string{"ftrace", "perf"}},
					{Name: "two", Index: -1},
					{Name: "three.1f", Index: -1, UsedBy: []string{"ftrace", "perf", "other"}},
				},
				Active: 3, Busy: 2,
			},
		},
		{
			"status bits", "1:one # Used by other\n12:two\n32767:three #\n\nActive: 3\nBusy: 1\nMax: 32768\n",
			tracefs.Status{
				Events: []tracefs.EventStatus{{Name: "one", Index: 1, UsedBy: []string{"other"}}, {Name: "two", Index: 12}, {Name: "three", Index: 32767}},
				Active: 3, Busy: 1, Max: 32768,
			},
		},
		{"status bytes, without events", "\nActive: 0\nBusy: 0\nMax: 4096\n", tracefs.Status{Max: 4096}},
		{"without events", "\nActive: 0\nBusy: 0\n", tracefs.Status{}},
		{"no newline at the end", "one\n\nActive: 1\nBusy: 0", tracefs.Status{Events: []tracefs.EventStatus{{Name: "one", Index: -1}}, Active: 1}},
		{
			"names with newlines", "one\nx\n\nActive # Used by perf\ntwo\nx\n\nActive:\n\n\nBusy:x\n\nActive: # Used by ftrace\n\nActive: 5\nBusy: 0\n",
			tracefs.Status{
				Events: []tracefs.EventStatus{
					{Name: "one", Index: -1}, {Name: "x", Index: -1}, {Name: "Active", Index: -1, UsedBy: []string{"perf"}}, {Name: "two", Index: -1},
				},
				Active: 5,
			},
		},
		{
			"a name that has another one as a line", "x\none # Used by ftrace\none # Used by perf ftrace\n3:two\n1:x\ntwo # Used by perf\n\nActive: 4\nBusy: 3\n",
			tracefs.Status{
				Events: []tracefs.EventStatus{
					{Name: "x", Index: 1}, {Name: "one", Index: -1, UsedBy: []string{"ftrace", "perf"}}, {Name: "two", Index: 3, UsedBy: []string{"perf"}},
				},
				Active: 4, Busy: 3,
			},
		},
		{
			"no names of tracepoints", "x:one\n-1:one\n1:\n # Used by ftrace\n #\n..\n../x\n1:/\ntwo\n\nActive: 9\nBusy: 0\n",
			tracefs.Status{Events: []tracefs.EventStatus{{Name: "two", Index: -1}}, Active: 9},
		},
		{
			"what later kernels may say", "one # Pinned\n\nActive: 1\nBusy: 0\nLater: x\n# Used by ftrace\n",
			tracefs.Status{Events: []tracefs.EventStatus{{Name: "one", Index: -1}}, Active: 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := tracefs.ParseStatus(strings.NewReader(c.text))
			assert.NoError(t, err)
			assert.Equal(t, &c.want, got)
		})
	}
}

func TestParseStatusMalformed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "no totals"},
		{"one\n", "no totals"},
		{"one\n\nActive:1\nBusy: 0\n", "no totals"},
		{"one\nActive: 1\nBusy: 0\n", "no totals"},
		{"one\n\nActive: many\n", "no totals"},
		{"one\n\nActive: 1\nBusy: -1\n", `malformed line "Busy: -1"`},
		{"one\n\nActive: 99999999999999999999\n", "malformed line"},
		{strings.Repeat("x", 1<<20), "too long"},
	} {
		got, err := tracefs.ParseStatus(strings.NewReader(c.text))
		assert.ErrorContains(t, err, c.want, "%.100q", c.text)
		assert.Nil(t, got)
	}
	_, err := tracefs.ParseStatus(failingReader{})
	assert.ErrorIs(t, err, errReading)
}
