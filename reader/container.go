package reader

import "strings"

// parseCgroups parses /proc/PID/cgroup. It returns the path of the process's cgroup, preferring version 2, and the id
// of its container.
func parseCgroups(text string) (path, container string) {
	for line := range strings.Lines(text) {
		hierarchy, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, p, ok := strings.Cut(rest, ":") // the path may have colons
		if !ok {
			continue
		}
		if container == "" {
			container = containerID(p)
		}
		// On a machine with both versions, processes may be in the root of version 2.
		if hierarchy == "0" && (p != "/" || path == "") || path == "" || path == "/" && controllers == "name=systemd" {
			path = p
		}
	}
	return path, container
}

// containerID returns the id in the path of a cgroup, or "". Runtimes name a container's cgroup by its id of 64
// hexadecimal digits:
//
//	/docker/ID                                         docker, cgroupfs
//	/system.slice/docker-ID.scope                      docker, systemd
//	/kubepods/burstable/podUID/ID                      containerd and CRI-O, cgroupfs
//	/kubepods.slice/.../cri-containerd-ID.scope        containerd, systemd
//	/kubepods-...slice:cri-containerd:ID               containerd, as runc is told
//	/kubepods.slice/.../crio-ID.scope                  CRI-O, systemd
//	/machine.slice/libpod-ID.scope                     podman
//
// Processes in the container may have cgroups below these.
func containerID(path string) string {
	for path != "" {
		i := strings.LastIndexByte(path, '/')
		name := strings.TrimSuffix(path[i+1:], ".scope")
		path = path[:max(i, 0)]
		if strings.Contains(name, "conmon") { // conmon monitors a container from outside of it
			return ""
		}
		if j := strings.LastIndexAny(name, "-:"); isContainerID(name[j+1:]) {
			return name[j+1:]
		}
	}
	return ""
}

func isContainerID(s string) bool {
	if len(s) != 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
