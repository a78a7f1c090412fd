package tracefs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChoose(t *testing.T) {
	const (
		root     = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
		usual    = "24 20 0:12 / /sys/kernel/tracing rw - tracefs tracefs rw\n"
		other    = "25 20 0:12 / /mnt/tracing rw - tracefs tracefs rw\n"
		another  = "26 20 0:12 / /mnt/second rw - tracefs tracefs rw\n"
		debug    = "27 20 0:7 / /sys/kernel/debug rw - debugfs debugfs rw\n"
		dataFile = "28 20 0:12 /user_events_data /run/ue/user_events_data rw - tracefs tracefs rw\n"
		events   = "29 20 0:12 /events /mnt/events rw - tracefs tracefs rw\n"
	)
	for _, c := range []struct {
		name, mounts, want string
	}{
		{"nothing", "", ""},
		{"others only", root, ""},
		{"parts only", root + dataFile + events, ""},
		{"the usual place", root + usual, DefaultDir},
		{"the usual place after others", root + debug + other + usual, DefaultDir},
		{"the first of two unusual places", root + other + another, "/mnt/tracing"},
		{"an unusual place after debugfs", root + debug + other, "/mnt/tracing"},
		{"debugfs only", root + debug + dataFile, "/sys/kernel/debug/tracing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mounts, err := ParseMounts(strings.NewReader(c.mounts))
			require.NoError(t, err)
			dir, ok := choose(mounts)
			assert.Equal(t, c.want, dir)
			assert.Equal(t, c.want != "", ok)
		})
	}
}
