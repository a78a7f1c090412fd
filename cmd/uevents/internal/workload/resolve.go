package workload

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/internal/cgroup"
)

// NotFoundError says that no container or pod has a name, and which do. It wraps the errors of what could not be read.
type NotFoundError struct {
	Kind, Name string   // Kind is container or pod
	Known      []string // names of that kind

	places []string
	err    error
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("no %s %q: looked at %s, and the cgroups of processes", e.Kind, e.Name, strings.Join(e.places, ", "))
	if e.err != nil {
		text += "\n" + e.err.Error()
	}
	return text
}

func (e *NotFoundError) Unwrap() error { return e.err }

// AmbiguousError says that several containers or pods have a name, or an id that begins so.
type AmbiguousError struct {
	Kind, Name string   // as those of NotFoundError
	Matches    []string // what tells them apart
}

const maxListed = 10

func (e *AmbiguousError) Error() string {
	matches := e.Matches
	if len(matches) > maxListed {
		matches = append(slices.Clone(matches[:maxListed]), fmt.Sprintf("%d more", len(e.Matches)-maxListed))
	}
	return fmt.Sprintf("several match %s %q: %s", e.Kind, e.Name, strings.Join(matches, ", "))
}

// IsPattern reports whether a name is a pattern of package path.
func IsPattern(name string) bool { return strings.ContainsAny(name, `*?[`) }

// matches reports whether a name is the one that is asked for, or matches a pattern, whose form was checked.
func matches(pattern, name string) bool {
	ok := name == pattern
	if IsPattern(pattern) {
		ok, _ = path.Match(pattern, name)
	}
	return ok && name != ""
}

// ResolveContainer returns the ids of the containers with a name, or with the names that match a pattern, or of the one whose id
// begins so. A container of a pod that was restarted is several. An id of 64 digits need not be known.
func (s *Snapshot) ResolveContainer(name string) (ids []string, err error) {
	if cgroup.IsContainerID(name) {
		return []string{name}, nil
	}
	if _, err := path.Match(name, ""); err != nil {
		return nil, fmt.Errorf("container %q: %w", name, err)
	}
	found := s.containers(func(c *Container) bool { return matches(name, c.Name) })
	if len(found) == 0 && name != "" && cgroup.IsHex(name) {
		found = s.containers(func(c *Container) bool { return strings.HasPrefix(c.ID, name) })
	}
	if len(found) == 0 {
		e := s.notFound("container", name)
		for _, c := range s.Containers {
			e.Known = append(e.Known, c.Name)
		}
		return nil, e
	}
	same := func(c *Container) bool {
		return c.ID == found[0].ID || c.Pod != "" && c.Pod == found[0].Pod && c.Namespace == found[0].Namespace && c.Name == found[0].Name
	}
	if !IsPattern(name) && slices.ContainsFunc(found, func(c *Container) bool { return !same(c) }) {
		e := &AmbiguousError{Kind: "container", Name: name}
		for _, c := range found {
			e.Matches = append(e.Matches, c.String())
		}
		slices.Sort(e.Matches)
		return nil, e
	}
	for _, c := range found {
		ids = append(ids, c.ID)
	}
	return ids, nil
}

func (s *Snapshot) containers(match func(c *Container) bool) (found []*Container) {
	for i := range s.Containers {
		if c := &s.Containers[i]; match(c) {
			found = append(found, c)
		}
	}
	return found
}

// ResolvePod returns the uids of the pods with a name, or with the names that match a pattern: POD or NAMESPACE/POD. A pod that was
// made again under its name is several. A uid need not be known.
func (s *Snapshot) ResolvePod(name string) (uids []string, err error) {
	if cgroup.IsPodUID(name) {
		return []string{name}, nil
	}
	namespace, pod, qualified := strings.Cut(name, "/")
	if !qualified {
		namespace, pod = "*", name
	}
	for _, pattern := range []string{namespace, pod} {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("pod %q: %w", name, err)
		}
	}
	var found []string
	for _, p := range s.Pods {
		if matches(namespace, p.Namespace) && matches(pod, p.Name) {
			uids = append(uids, p.UID)
			found = append(found, p.Namespace+"/"+p.Name)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	switch {
	case len(found) == 0:
		e := s.notFound("pod", name)
		for _, p := range s.Pods {
			e.Known = append(e.Known, p.Name, p.Namespace+"/"+p.Name)
		}
		return nil, e
	case len(found) > 1 && !IsPattern(name):
		return nil, &AmbiguousError{"pod", name, found}
	}
	return uids, nil
}

func (s *Snapshot) notFound(kind, name string) *NotFoundError {
	return &NotFoundError{Kind: kind, Name: name, places: s.places, err: errors.Join(s.errs...)}
}

// OfPods returns the snapshot without the containers of other pods.
func (s *Snapshot) OfPods(uids []string) *Snapshot {
	of := *s
	of.Containers = slices.DeleteFunc(slices.Clone(s.Containers), func(c Container) bool { return !slices.Contains(uids, c.PodUID) })
	return &of
}
