package record

import (
	"path"
	"strings"
)

// Process is a process that wrote records. It is immutable: after an exec, and once its context is known, events have another Process.
// Programs choose these names: escape them before they reach a terminal.
type Process struct {
	PID    int32
	Comm   string // name of up to 15 bytes; empty if unknown
	Exe    string // path of its program in its own file system; empty if unknown or without permission
	Cgroup string // path of its cgroup, such as /system.slice/myapp.service; empty if unknown
	// Unit is the systemd unit that it runs in, such as myapp.service, of units in each other the innermost: the user's one of
	// a user's service, and the one inside of a container that runs systemd. A slice is the unit of what runs in no other;
	// empty without systemd.
	Unit string
	// ContainerID is the id of 64 hexadecimal digits that docker, containerd, CRI-O or podman assigned to its container, of
	// containers in each other the innermost; empty outside containers.
	ContainerID string
	// PodUID is the uid of its Kubernetes pod, such as 7d2f0a6c-5a3e-4f6e-9b1c-2f4f1b0f7a11, or the hash of 32 hexadecimal
	// digits that the kubelet gives a static pod; empty outside pods. Unit, ContainerID and PodUID are parts of the paths of
	// cgroups, which a program may choose below a cgroup that was delegated to it.
	PodUID string
	// ServiceName is the service.name that it publishes as OpenTelemetry's process context, of up to 1024 bytes; empty if it
	// publishes none, has exited before it could be read, or without the permission to attach to it with ptrace.
	ServiceName string
	// ResourceJSON is a JSON object of the other attributes of this context, as [AppendJSON] writes them; empty if there are none. It has up
	// to 4 KiB: larger attributes are omitted, and so are those of processes beyond 16 MiB in all.
	ResourceJSON string
}

// Program returns the name of the process's program: the last element of Exe, or else Comm, which threads can change. It
// is "" if neither is known, or if p is nil.
func (p *Process) Program() string {
	switch {
	case p == nil:
		return ""
	case p.Exe != "":
		return path.Base(p.Exe)
	}
	return p.Comm
}

func (p Process) clone() *Process {
	for _, s := range []*string{&p.Comm, &p.Exe, &p.Cgroup, &p.Unit, &p.ContainerID, &p.PodUID, &p.ServiceName} {
		*s = strings.Clone(*s)
	}
	return &p
}
