package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/workload"
	"github.com/userevents/userevents-go/internal/cgroup"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
)

type workloadFlags struct {
	units, containers, pods []string
	root                    string // of the machine's files
}

const workloadHelp = `--unit, --container and --pod select what a unit of systemd, a container or a pod writes. Of
the same flag each value may match, of different ones all have to. A unit that starts later is
selected, too. Names of containers and pods are looked up once, at the start, in the files of
the kubelet, docker, podman and CRI-O: a pod keeps its records when its containers restart,
and a container when docker or podman starts it again, but one that is created later has
another ID. A name with *, ? or [a-z] selects all that it matches.`

func (f *workloadFlags) add(cmd *cobra.Command) {
	f.root = "/"
	flags := cmd.Flags()
	flags.StringSliceVar(&f.units, "unit", nil, "read only what the systemd unit `NAME` writes, such as nginx, nginx.service or 'worker@*'")
	flags.StringSliceVar(&f.containers, "container", nil, "read only what the container of this `NAME`, or of an ID that begins so, writes")
	flags.StringSliceVar(&f.pods, "pod", nil, "read only what the Kubernetes `POD` writes: its name, NAMESPACE/NAME or its UID")
	for flag, names := range map[string]func(s *workload.Snapshot) []string{
		"unit": (*workload.Snapshot).Units, "container": containerNames, "pod": podNames,
	} {
		completeFlagBy(cmd, flag, func() []string { return names(workload.Read(f.root)) })
	}
}

// none reports whether no flag is given.
func (f *workloadFlags) none() bool { return len(f.units)+len(f.containers)+len(f.pods) == 0 }

// conditions returns conditions on records, all of which have to be met. Errors have a remedy.
func (f *workloadFlags) conditions() ([]*where.Condition, error) {
	units, err := anyOfNames(f.units, unitCondition)
	if err != nil || len(f.containers)+len(f.pods) == 0 {
		return []*where.Condition{units}, err
	}
	s := workload.Read(f.root)
	pods, err := resolve(f.pods, s.ResolvePod)
	if err != nil {
		return nil, err
	}
	if len(pods) > 0 {
		s = s.OfPods(pods)
	}
	containers, err := resolve(f.containers, s.ResolveContainer)
	if err != nil {
		return nil, err
	}
	return []*where.Condition{units, oneOf("pod_uid", pods), oneOf("container_id", containers)}, nil
}

var unitName = regexp.MustCompile(`^[A-Za-z0-9:_.@\\*?^[\]-]+$`)

func unitCondition(name string) (*where.Condition, error) {
	_, err := path.Match(name, "")
	if workload.IsPattern(name) && err == nil && unitName.MatchString(name) || cgroup.IsUnit(name) || cgroup.IsUnit(name+".service") {
		return nameCondition("unit", name)
	}
	return nil, fmt.Errorf("--unit %q is neither the name of a systemd unit that can have processes nor a pattern", name)
}

// nameCondition returns the condition that a part of records has a name, or matches a pattern. A backslash is a part of the name, as in
// dev-disk-by\x2duuid.swap: conditions compare what is printed, in which it is doubled, and it escapes in patterns.
func nameCondition(part, name string) (*where.Condition, error) {
	op, printed := "==", record.StringValue(name).String()
	if workload.IsPattern(name) {
		op, printed = "~", strings.ReplaceAll(printed, `\`, `\\`)
	}
	quoted, err := quoteValue(printed)
	if err != nil {
		return nil, err
	}
	return where.Parse(part + " " + op + " " + quoted)
}

// sayAbsent says which programs and units no process has now: they may be misspelt.
func (f *conditionFlags) sayAbsent(e *env) {
	if len(f.programs)+len(f.workloads.units) == 0 {
		return
	}
	processes := workload.Processes(f.workloads.root)
	absent := func(part, name string, of func(p *workload.Process) string) {
		c, _ := nameCondition(part, name) // they have been parsed before
		var names []string
		for i := range processes {
			p := &processes[i]
			if c.Match(&record.Record{Process: &record.Process{Comm: p.Comm, Exe: p.Program, Unit: p.Unit}}) {
				return
			}
			names = append(names, of(p))
		}
		slices.Sort(names)
		if similar := similarNames(name, slices.Compact(names)); len(similar) > 0 {
			name += " (did you mean " + listed(similar) + "?)"
		}
		e.say("! no process of the %s %s runs now", part, text.Printable(name))
	}
	for _, name := range f.programs {
		absent("program", name, func(p *workload.Process) string { return p.Program })
	}
	for _, name := range f.workloads.units {
		absent("unit", name, func(p *workload.Process) string {
			if cgroup.IsUnit(name) {
				return p.Unit
			}
			return strings.TrimSuffix(p.Unit, ".service")
		})
	}
}

// resolve returns the ids of names, each once.
func resolve(names []string, of func(name string) ([]string, error)) (ids []string, err error) {
	for _, name := range names {
		more, err := of(name)
		if err != nil {
			return nil, hintForName(err)
		}
		ids = append(ids, more...)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func hintForName(err error) error {
	missing, notFound := errors.AsType[*workload.NotFoundError](err)
	ambiguous, several := errors.AsType[*workload.AmbiguousError](err)
	switch {
	case several && ambiguous.Kind == "container":
		return hintError{err, "give more of its ID, or --pod, too"}
	case several:
		return hintError{err, "give NAMESPACE/NAME"}
	case !notFound:
		return usageError{err}
	}
	slices.Sort(missing.Known)
	known := slices.DeleteFunc(slices.Compact(missing.Known), func(name string) bool { return name == "" })
	// docker compose puts the project in front.
	similar := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return !strings.Contains(name, missing.Name) })
	if len(similar) == 0 {
		similar = similarNames(missing.Name, known)
	}
	switch {
	case len(similar) > 0:
		return hintError{err, "did you mean " + text.Printable(listed(similar)) + "?"}
	case errors.Is(err, fs.ErrPermission):
		return hintError{err, "files of container runtimes belong to root: run it as root, or select by an ID of 64 digits"}
	case len(known) > 0:
		return hintError{err, "there are " + text.Printable(listed(known))}
	}
	return err
}

// containerNames returns the names of containers, and the first digits of the ids of those without.
func containerNames(s *workload.Snapshot) []string {
	return mapped(s.Containers, func(c workload.Container) string { return cmp.Or(c.Name, c.ID[:12]) + "\t" + c.String() })
}

func podNames(s *workload.Snapshot) []string {
	return mapped(s.Pods, func(p workload.Pod) string { return p.Namespace + "/" + p.Name + "\t" + p.UID })
}
