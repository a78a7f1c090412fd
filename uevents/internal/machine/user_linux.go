package machine

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// user is who this process is when the kernel checks permissions.
type user struct {
	uid    int
	groups []int
	// namespaced says that the process is in a user namespace of its own, as in a rootless
	// container. Its root has no permissions on the machine's tracefs.
	namespaced bool
}

func currentUser(uidMap string) user {
	groups, err := os.Getgroups()
	if err != nil {
		groups = nil // then the primary group is all that is known
	}
	return user{
		uid:        os.Geteuid(),
		groups:     append(groups, os.Getegid()),
		namespaced: uidMap != "" && !slices.Equal(strings.Fields(uidMap), []string{"0", "0", "4294967295"}),
	}
}

// may reports whether the mode of a file grants the user the permission bits, 4 to read, 2
// to write and 1 to execute or search, whatever security modules say.
func (u user) may(file fs.FileInfo, bits fs.FileMode) bool {
	if u.uid == 0 && !u.namespaced {
		return true
	}
	owner, ok := file.Sys().(*syscall.Stat_t)
	mode := file.Mode().Perm()
	switch {
	case !ok:
		return false
	case int(owner.Uid) == u.uid:
		mode >>= 6
	case slices.Contains(u.groups, int(owner.Gid)):
		mode >>= 3
	}
	return mode&bits == bits
}

func (u user) String() string {
	if u.namespaced {
		return fmt.Sprintf("user %d of a user namespace", u.uid)
	}
	return fmt.Sprintf("user %d", u.uid)
}
