package sys

import "os"

// InitialNamespace reports whether this process is in the first namespace of a kind, "cgroup", "pid", "user" or "uts": its inode number is part of the
// kernel's interface (include/uapi/linux/nsfs.h). A process that sees no /proc, such as on another system than Linux, is
// taken for one.
func InitialNamespace(kind string) bool {
	first := map[string]string{"cgroup": "cgroup:[4026531835]", "pid": "pid:[4026531836]", "user": "user:[4026531837]", "uts": "uts:[4026531838]"}[kind]
	is, err := os.Readlink("/proc/self/ns/" + kind)
	return err != nil || is == first
}
