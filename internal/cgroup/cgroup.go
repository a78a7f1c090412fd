// Package cgroup derives from the cgroups of a process what operators call it by: its systemd unit, its container and its pod.
package cgroup

import (
	"cmp"
	"slices"
	"strings"
)

// Names are derived from the paths of a process's cgroups. Root chooses these; and below a cgroup that is delegated, its user, service
// or container.
type Names struct {
	Path        string // of the process's cgroup, preferring version 2
	Unit        string // innermost systemd unit, such as nginx.service; of a user's unit the user's one
	ContainerID string // innermost container, by the id of 64 hexadecimal digits that its runtime assigned
	PodUID      string // innermost Kubernetes pod
}

// Parse parses /proc/PID/cgroup. Unknown names are empty.
func Parse(text string) (n Names) {
	var unified, named string // units
	for line := range strings.Lines(text) {
		hierarchy, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, p, ok := strings.Cut(rest, ":") // the path may have colons
		if !ok {
			continue
		}
		n.ContainerID = cmp.Or(n.ContainerID, containerID(p))
		n.PodUID = cmp.Or(n.PodUID, podUID(p))
		// systemd makes all its groups in one hierarchy, and in those of controllers as few as it needs.
		switch {
		case hierarchy == "0":
			unified = unit(p)
		case controllers == "name=systemd":
			named = unit(p)
		}
		// On a machine with both versions, processes may be in the root of version 2.
		if hierarchy == "0" && (p != "/" || n.Path == "") || n.Path == "" || n.Path == "/" && controllers == "name=systemd" {
			n.Path = p
		}
	}
	n.Unit = cmp.Or(unified, named, unit(n.Path))
	return n
}

// containerID returns the id in the path of a cgroup, or "". Runtimes name a container's cgroup by its id:
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
	for _, name := range slices.Backward(strings.Split(path, "/")) {
		name = strings.TrimSuffix(name, ".scope")
		if strings.Contains(name, "conmon") { // conmon monitors a container from outside of it
			return ""
		}
		if id := name[strings.LastIndexAny(name, "-:")+1:]; IsContainerID(id) {
			return id
		}
	}
	return ""
}

// IsContainerID reports whether a text has the form of a container's id: 64 hexadecimal digits.
func IsContainerID(s string) bool { return len(s) == 64 && IsHex(s) }

// IsHex reports whether a text has hexadecimal digits only, as ids have them, in lower case.
func IsHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// podUID returns the uid in the path of a cgroup, or "". The kubelet names a pod's cgroup by it, below those of the node, which can
// be a container itself:
//
//	/kubepods/besteffort/podUID                                       cgroupfs
//	/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice    systemd, with _ in the place of -
//	/kubepods-burstable-podUID.slice:cri-containerd:ID                containerd, as runc is told
func podUID(path string) string {
	for _, name := range slices.Backward(strings.Split(path, "/")) {
		name, _, _ = strings.Cut(name, ":")
		name = strings.TrimSuffix(name, ".slice")
		i := strings.LastIndex(name, "pod")
		if i < 0 || i > 0 && name[i-1] != '-' {
			continue
		}
		if uid := strings.ReplaceAll(name[i+len("pod"):], "_", "-"); IsPodUID(uid) {
			return uid
		}
	}
	return ""
}

// IsPodUID reports whether a text has the form of a pod's uid: a UUID, or 32 hexadecimal digits, a hash of the file that the kubelet
// read a static pod from.
func IsPodUID(s string) bool {
	if len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		s = strings.ReplaceAll(s, "-", "")
	}
	return len(s) == 32 && IsHex(s)
}

// unit returns the last component of a path that names a systemd unit, or "". Units run in slices: a slice is the unit only of what
// runs in no other.
func unit(path string) string {
	slice := ""
	for _, name := range slices.Backward(strings.Split(path, "/")) {
		name = strings.TrimPrefix(name, "_") // systemd adds it to names that are files of cgroups
		switch kind(name) {
		case "":
		case "slice":
			slice = cmp.Or(slice, name)
		default:
			return name
		}
	}
	return slice
}

// kinds are the units that systemd makes cgroups for.
var kinds = []string{"service", "scope", "slice", "socket", "mount", "swap"}

// kind returns the type of a unit, or "" for a name that systemd would not accept, such as that of a template.
func kind(name string) string {
	i := strings.LastIndexByte(name, '.')
	if i <= 0 || len(name) > 255 || !slices.Contains(kinds, name[i+1:]) || name[0] == '@' || name[i-1] == '@' {
		return ""
	}
	for _, c := range []byte(name) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !strings.ContainsRune(`:-_.\@`, rune(c)) {
			return ""
		}
	}
	return name[i+1:]
}

// IsUnit reports whether a text is the name of a unit that can have processes.
func IsUnit(name string) bool { return kind(name) != "" }
