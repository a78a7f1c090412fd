package tracefs

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Types of file systems.
const (
	tracefs = "tracefs"
	debugfs = "debugfs"
)

// maxMountLine is the longest line that ParseMounts takes, in bytes. Overlay mounts of many
// layers have long ones.
const maxMountLine = 16 << 20

// Mount is a line of /proc/self/mountinfo.
type Mount struct {
	Root    string // which part of the file system is mounted, "/" for all of it
	Point   string // where
	Type    string // the file system's type
	Options string // of this mount, such as "rw,nosuid"
}

// Tracefs returns the directory of a whole tracefs that the mount makes visible.
func (m Mount) Tracefs() (dir string, ok bool) {
	switch {
	case m.Root != "/":
		return "", false
	case m.Type == tracefs:
		return m.Point, true
	case m.Type == debugfs:
		return path.Join(m.Point, "tracing"), true
	}
	return "", false
}

// DataFile returns the path of the data file that the mount makes visible. A container may
// have that one file mounted and nothing else.
func (m Mount) DataFile() (file string, ok bool) {
	if m.Type == tracefs && m.Root == "/"+DataFile {
		return m.Point, true
	}
	if dir, ok := m.Tracefs(); ok {
		return path.Join(dir, DataFile), true
	}
	return "", false
}

// ParseMounts parses the format of /proc/self/mountinfo, proc_pid_mountinfo(5). On
// error it returns nil.
func ParseMounts(r io.Reader) ([]Mount, error) {
	var mounts []Mount
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxMountLine)
	for s.Scan() {
		// 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
		before, after, ok := strings.Cut(s.Text(), " - ")
		own := strings.Split(before, " ") // other white space may be part of a path
		fstype, _, _ := strings.Cut(after, " ")
		if !ok || len(own) < 6 || slices.Contains(own, "") || fstype == "" {
			return nil, fmt.Errorf("malformed line %q", s.Text())
		}
		mounts = append(mounts, Mount{Root: unescape(own[3]), Point: unescape(own[4]), Options: own[5], Type: fstype})
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	return mounts, nil
}

// unescape undoes the octal escapes of space, tab, newline, backslash and number sign.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
