//go:build !linux

package sys

// CgroupRoot returns false: there are no cgroups.
func CgroupRoot(string) bool { return false }

// Inode returns 0.
func Inode(string) uint64 { return 0 }
