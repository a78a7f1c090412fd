package tracefs_test

import (
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
