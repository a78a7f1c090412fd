package sys

import "golang.org/x/sys/unix"

// CgroupRoot reports whether a directory is the root of a hierarchy of cgroups, and not of a part of it, as in a container.
func CgroupRoot(dir string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return false
	}
	magic := uint32(fs.Type)
	return (magic == unix.CGROUP2_SUPER_MAGIC || magic == unix.CGROUP_SUPER_MAGIC) && Inode(dir) == rootInode
}

// rootInode is that of the root of a hierarchy (fs/kernfs).
const rootInode = 1
