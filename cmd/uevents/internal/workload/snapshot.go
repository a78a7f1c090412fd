// Package workload finds what runs on a machine by the names that operators use: systemd units, containers and pods.
//
// Units, containers' ids and pods' uids are in the cgroups of processes. Names of containers and pods are in files of the kubelet and of
// the runtimes:
//
//	/var/log/pods/NAMESPACE_POD_UID                          the kubelet, with any runtime
//	/var/log/containers/POD_NAMESPACE_NAME-ID.log            the same
//	/var/lib/containers/storage, ~/.local/share/containers   podman and CRI-O
//	/var/lib/docker/containers, ~/.local/share/docker        docker
//
// The contents of files are not trusted: a file has a limit of size, a directory one of entries, a pipe is not waited for, and no link
// leads out of the directory of a runtime.
package workload

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/userevents/userevents-go/internal/cgroup"
)

// Container is a container that a runtime has, running or not.
type Container struct {
	ID   string // of 64 hexadecimal digits
	Name string // empty if no file that can be read has it
	// Runtime is docker or podman; empty for containers of pods, and for those that are known from cgroups alone.
	Runtime string
	// PodUID is that of its Kubernetes pod; empty outside pods.
	Namespace, Pod, PodUID string
}

// String returns what tells the container from others: NAMESPACE/POD/NAME, or its name, and the first digits of its id.
func (c *Container) String() string {
	short := c.ID[:12]
	switch {
	case c.Pod != "":
		return c.Namespace + "/" + c.Pod + "/" + c.Name + " (" + short + ")"
	case c.Name != "":
		return c.Name + " (" + c.Runtime + " " + short + ")"
	}
	return short
}

// Pod is a Kubernetes pod of the machine.
type Pod struct{ Namespace, Name, UID string }

// Snapshot is what there was on a machine at the time of Read.
type Snapshot struct {
	Processes  []Process
	Containers []Container
	Pods       []Pod

	root   string
	byID   map[string]int // indices of Containers
	byUID  map[string]int // indices of Pods
	places []string       // that were looked at
	errs   []error        // about places that could not be read
}

// Read reads what is on the machine whose files are below root, which is / but for tests. It returns what this user may read: errors
// are those of resolving names that are not found.
func Read(root string) *Snapshot {
	s := newSnapshot(root)
	s.readKubelet()
	s.readStorage("/var/lib/containers/storage")
	s.readStorage("/run/containers/storage") // of a transient store
	s.readDocker("/var/lib/docker/containers")
	if data := dataHome(); data != "" {
		s.readStorage(filepath.Join(data, "containers/storage"))
		s.readDocker(filepath.Join(data, "docker/containers"))
	}
	s.readProcesses()
	for i := range s.Containers {
		c := &s.Containers[i]
		if p, ok := s.byUID[c.PodUID]; ok && c.Pod == "" {
			c.Namespace, c.Pod = s.Pods[p].Namespace, s.Pods[p].Name
		}
	}
	return s
}

func newSnapshot(root string) *Snapshot {
	return &Snapshot{root: root, byID: map[string]int{}, byUID: map[string]int{}}
}

// dataHome returns the directory that rootless runtimes have theirs in.
func dataHome() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "" // a service without HOME has no rootless containers
	}
	return filepath.Join(home, ".local/share")
}

func (s *Snapshot) place(path string) string {
	s.places = append(s.places, path)
	return filepath.Join(s.root, path)
}

// failed notes that a place could not be read, if that is an error, and reports it.
func (s *Snapshot) failed(err error) bool {
	if err != nil {
		s.errs = append(s.errs, err)
	}
	return err != nil
}

// add adds a container, or what is not known yet of one that is there.
func (s *Snapshot) add(c Container) {
	i, ok := s.byID[c.ID]
	if !ok {
		s.byID[c.ID] = len(s.Containers)
		s.Containers = append(s.Containers, c)
		return
	}
	have := &s.Containers[i]
	if have.Name == "" {
		have.Name, have.Runtime = c.Name, c.Runtime
	}
	if have.PodUID == "" {
		have.Namespace, have.Pod, have.PodUID = c.Namespace, c.Pod, c.PodUID
	}
}

// addNamed adds a container by the name that a runtime has for it. Those of Kubernetes have names of several parts:
//
//	k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT
//	k8s_POD_NAMESPACE_UID_ATTEMPT, or POD as the CONTAINER    the sandbox, which has no name
func (s *Snapshot) addNamed(id, name, runtime string) {
	c := Container{ID: id, Name: name, Runtime: runtime}
	parts := strings.Split(name, "_")
	if n := len(parts); (n == 5 || n == 6) && parts[0] == "k8s" && cgroup.IsPodUID(parts[n-2]) {
		c.Name, c.Runtime = "", ""
		if n == 6 && parts[1] != "POD" {
			c.Name = parts[1]
		}
		c.Pod, c.Namespace, c.PodUID = parts[n-4], parts[n-3], parts[n-2]
		s.addPod(Pod{c.Namespace, c.Pod, c.PodUID})
	}
	s.add(c)
}

func (s *Snapshot) addPod(p Pod) {
	if _, ok := s.byUID[p.UID]; !ok {
		s.byUID[p.UID] = len(s.Pods)
		s.Pods = append(s.Pods, p)
	}
}
