package workload

import (
	"path"
	"strings"

	"github.com/userevents/userevents-go/internal/cgroup"
)

// readKubelet reads the names of the kubelet's directories of logs, one for each pod, and of its links to logs, one for each container.
// It has those of any runtime, and keeps those of containers that have ended as long as their logs.
func (s *Snapshot) readKubelet() {
	s.list("/var/log/pods", func(name string, _ func() string) {
		if p, ok := parsePodDir(name); ok {
			s.addPod(p)
		}
	})
	s.list("/var/log/containers", func(name string, target func() string) {
		c, ok := parseLogLink(name)
		if !ok {
			return
		}
		// The link leads to /var/log/pods/NAMESPACE_POD_UID/CONTAINER/ATTEMPT.log.
		if p, ok := parsePodDir(path.Base(path.Dir(path.Dir(target())))); ok && p.Namespace == c.Namespace && p.Name == c.Pod {
			c.PodUID = p.UID
		}
		s.add(c)
	})
}

// list calls f with each name in a directory, and a function that returns where it leads to if it is a link.
func (s *Snapshot) list(dir string, f func(name string, target func() string)) {
	r, err := open(s.place(dir))
	if s.failed(err) || r == nil {
		return
	}
	defer r.Close()
	names, err := s.entries(r)
	s.failed(err)
	for _, e := range names {
		f(e.Name(), func() string {
			target, _ := r.Readlink(e.Name()) // "" leads nowhere
			return target
		})
	}
}

// parsePodDir parses NAMESPACE_POD_UID. Neither namespaces nor pods have underscores in their names.
func parsePodDir(name string) (p Pod, ok bool) {
	parts := strings.Split(name, "_")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || !cgroup.IsPodUID(parts[2]) {
		return p, false
	}
	return Pod{parts[0], parts[1], parts[2]}, true
}

// parseLogLink parses POD_NAMESPACE_CONTAINER-ID.log. The kubelet cuts names that are too long for a file system, and the id with them.
func parseLogLink(name string) (c Container, ok bool) {
	name, ok = strings.CutSuffix(name, ".log")
	i := strings.LastIndexByte(name, '-')
	parts := strings.Split(name[:max(i, 0)], "_")
	if !ok || len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" || !cgroup.IsContainerID(name[i+1:]) {
		return c, false
	}
	return Container{ID: name[i+1:], Name: parts[2], Namespace: parts[1], Pod: parts[0]}, true
}
