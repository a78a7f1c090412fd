package cli

import (
	"io/fs"
	"os"
	"os/user"

	"github.com/userevents/userevents-go/internal/tracefs"
)

// gidOf returns the number of a group, which the kernel needs instead of its name. For a group that does not exist yet,
// it returns a shell expression.
func gidOf(group string) string {
	if g, err := user.LookupGroup(group); err == nil {
		return g.Gid
	}
	return shellGID(group)
}

func shellGID(group string) string { return "$(getent group " + group + " | cut -d: -f3)" }

// otherGroup returns the name of another group that tracefs was opened to, or "".
func otherGroup(group string, dir *tracefs.Dir) string {
	for _, path := range []string{dir.Path(), dir.Path("events"), dir.Path(tracefs.StatusFile), dir.Path(tracefs.DataFile)} {
		st, err := os.Stat(path)
		if err != nil {
			continue // --apply, as root, sees all of them
		}
		gid, ok := groupOf(st)
		if ok && gid != "0" && gid != gidOf(group) {
			if g, err := user.LookupGroupId(gid); err == nil {
				return g.Name
			}
			return gid
		}
	}
	return ""
}

// modeFor returns the mode that lets a group use tracefs, and takes no permission from others.
func modeFor(dir *tracefs.Dir) fs.FileMode {
	const mode = 0o750
	if st, err := os.Stat(dir.Path()); err == nil {
		return st.Mode().Perm() | mode
	}
	return mode
}
