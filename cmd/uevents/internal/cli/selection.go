package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/perfetto"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// maxEvents is how many events of the kernel a command attaches to without --yes: each is a descriptor for each CPU, and takes the
// kernel 30 ms to detach. Of each program in shared memory it is as many.
const maxEvents = 200

// selection holds the flags that select events and records. Each command has some of them.
type selection struct {
	conditionFlags

	excludes               []string
	cgroup                 string
	pids                   []int
	noFollow, yes, release bool
	strict                 bool
	buffer                 string
}

const patternsHelp = `PATTERN selects user events by name:
  myapp                 myapp and all whose names begin with myapp_
  'myapp_*'             names with *, ? and [a-z]
  sched:sched_switch    an event of the kernel, by its system and name`

// allHelp is the part on command lines without patterns in the help of commands.
const allHelp = `Without a PATTERN, a flag that selects records, such as --unit, --level or --where, selects them
from all user events.`

// needsPattern checks the arguments of a command: it has a PATTERN, a COMMAND, or a flag that selects records.
func needsPattern(cmd *cobra.Command, args []string) error {
	for _, name := range selectingFlags {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return nil
		}
	}
	return cobra.MinimumNArgs(1)(cmd, args)
}

var selectingFlags = []string{"where", "level", "kind", "program", "unit", "container", "pod", "pid", "cgroup"}

// checkEmpty refuses flags that select records, or limit a file, by an empty value, such as a shell makes of a variable that is not set: they
// would select all.
func checkEmpty(flags *pflag.FlagSet) error {
	for _, name := range append([]string{"trigger", "trigger-event", "since", "until", "max-size"}, selectingFlags...) {
		f := flags.Lookup(name)
		if f == nil || !f.Changed {
			continue
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if len(values) == 0 || slices.ContainsFunc(values, func(v string) bool { return strings.TrimSpace(v) == "" }) {
			return usageError{fmt.Errorf("--%s has an empty value", name)}
		}
	}
	return nil
}

const commandHelp = `With a COMMAND it runs that until it ends, and exits with its exit code, which is 128 + N
if signal N ended it, 127 if it is not found, and 126 if it cannot be executed. A signal that
ends uevents goes to the COMMAND, too; Ctrl-C reaches it from the terminal, once. Without a
PATTERN it reads all events of the COMMAND's programs alone, which use shared memory then.
Of programs that do, it misses no record.`

// command makes a reader read the events of the programs that a command starts alone, if there are no patterns.
func (e *env) command(o *reader.Options, patterns, command []string) error {
	if len(command) == 0 {
		return nil
	}
	if len(patterns) == 0 && e.tracefs != "" {
		return usageError{errors.New("no PATTERN before --: with --tracefs it has to select events of the kernel")}
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return startError{err}
	}
	if len(patterns) == 0 && len(o.Processes) == 0 {
		o.Transport, o.Processes = reader.TransportMemory, []int{os.Getpid()} // and those that meetPrograms adds
		e.environment = append(e.environment, uevents.EnvTransport+"="+uevents.TransportMemory.String())
	}
	return nil
}

// all reports whether all user events are selected.
func (s *selection) all(patterns []string) bool {
	return len(patterns) == 0 && len(s.excludes) == 0 && s.cgroup == "" && len(s.where)+len(s.kinds)+len(s.programs)+len(s.level) == 0 && s.workloads.none()
}

// addEvents adds the flags that select events.
func (s *selection) addEvents(e *env, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&s.excludes, "exclude", nil, "leave out events that match `PATTERN`")
	flags.StringVar(&s.cgroup, "cgroup", "", "record only what processes in the cgroup write: a `DIR` below /sys/fs/cgroup")
	flags.BoolVar(&s.noFollow, "no-follow", false, "leave out events that appear later")
	flags.BoolVar(&s.yes, "yes", false, fmt.Sprintf("attach to more than %d events of the kernel, or of a program in shared memory", maxEvents))
	s.addConditions(e, cmd)
	cmd.ValidArgsFunction = e.completeEvents(true)
}

// addRecords adds the flags that select records of these events.
func (s *selection) addRecords(e *env, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntSliceVar(&s.pids, "pid", nil, "read only what processes with these `PID`s write")
	e.completePrograms(cmd, "pid", true)
	flags.StringVar(&s.buffer, "buffer", "512K", "`SIZE` of the ring of each CPU, such as 2M")
	flags.BoolVar(&s.release, "detach-at-exit", false, "detach from events whose programs have exited, so that a new version may change their fields")
	flags.BoolVar(&s.strict, "strict", false, "exit with code 5 if records were lost")
}

// orAll returns the patterns of a command line, which without any means all user events.
func orAll(patterns []string) []string {
	if len(patterns) == 0 {
		return []string{"*"}
	}
	return patterns
}

// options returns the options of the flags. Errors are usage errors.
func (s *selection) options(patterns []string) (*reader.Options, error) {
	o := &reader.Options{
		Selection: reader.Selection{Events: orAll(patterns), Excludes: s.excludes, Processes: s.pids},
		NoFollow:  s.noFollow, DetachAtExit: s.release, Reuse: true,
	}
	for _, p := range [][]string{o.Events, s.excludes} {
		if _, err := reader.Match(p...); err != nil { // on every machine, before the kernel is asked
			return nil, usageError{err}
		}
	}
	var err error
	if o.Where, err = s.condition(); err != nil {
		return nil, err
	}
	if s.buffer != "" {
		if o.BufferSize, err = output.ParseSize(s.buffer); err != nil {
			return nil, usageError{fmt.Errorf("--buffer: %w", err)}
		}
	}
	if s.cgroup != "" {
		if o.Cgroup, err = findCgroup(s.cgroup, "/sys/fs/cgroup"); err != nil {
			return nil, err
		}
	}
	if !s.yes {
		o.MaxEvents = maxEvents
	}
	return o, nil
}

// prepare checks the COMMAND and the transport.
func (e *env) prepare(o *reader.Options, patterns, command []string) error {
	if err := e.command(o, patterns, command); err != nil {
		return err
	}
	return e.selectTransport(o)
}

// selectTransport sets the options Transport and Tracefs. It fails if the command line needs events of the kernel, and the kernel has none.
func (e *env) selectTransport(o *reader.Options) error {
	o.Transport, o.Tracefs = transport, e.tracefs
	if e.tracefs != "" {
		o.Transport = reader.TransportKernel
		_, err := e.dir()
		return err
	}
	for _, p := range o.Events {
		if system, _, named := strings.Cut(p, ":"); named && system != tracepoint.System {
			dir, err := e.kernel(p)
			if err == nil {
				o.Tracefs = dir.Path()
			}
			return err
		}
	}
	return nil
}

// explain prints for each selected event where the condition is evaluated.
func (e *env) explain(o *reader.Options) error {
	if o.Where == nil {
		return usageError{errors.New("--explain is about a condition: --where, --level, --kind or --program")}
	}
	list, err := e.selected(o)
	if err != nil {
		return err
	}
	table := output.Table{Header: []string{"EVENT", "TRANSPORT", "KERNEL", "UEVENTS"}}
	for _, ev := range list {
		d, err := record.NewDecoder(ev.system, ev.format)
		if err != nil {
			return err
		}
		plan := o.Where.Plan(d, ev.textFilters)
		kernel, rest := cmp.Or(plan.Kernel, "-"), cmp.Or(strings.Join(plan.Reader, ", "), "-")
		switch {
		case plan.Never:
			kernel, rest = "no record can match", "not attached"
		case ev.transport() == uevents.TransportMemory:
			kernel, rest = "-", o.Where.String()
		}
		table.Add(shortName(ev.system+":"+ev.name), ev.transport().String(), text.Printable(kernel), text.Printable(rest))
	}
	fmt.Fprintf(e.out, "condition: %s\n", text.Printable(o.Where.String()))
	if len(list) == 0 {
		_, err := fmt.Fprintln(e.out, "no event matches (see uevents list)")
		return err
	}
	_, err = io.WriteString(e.out, table.String())
	return err
}

// selected returns the events that are there and match the patterns of options: user events, and those of other systems that are spelled
// out.
func (e *env) selected(o *reader.Options) ([]event, error) {
	match, err := reader.Match(o.Events...)
	if err != nil {
		return nil, err
	}
	exclude, err := reader.Match(o.Excludes...)
	if err != nil {
		return nil, err
	}
	list, _, err := e.events(func(system, name string) bool { return match(system, name) && !exclude(system, name) })
	for _, pattern := range o.Events {
		if system, name, ok := strings.Cut(pattern, ":"); ok && !strings.HasPrefix(system, "user_events") && !strings.ContainsAny(name, "*?[") {
			found, findErr := e.find(pattern)
			if findErr != nil {
				return nil, findErr
			}
			list = append(list, found...)
		}
	}
	return slices.Clip(list), err
}

// addSwitches selects context switches, too, whatever the condition.
func addSwitches(o *reader.Options) {
	o.Events = append(o.Events, perfetto.Switch)
	o.Where = where.Or(o.Where, mustParse("system == sched"))
}

// options returns the options for reading the records that hist counts: with --when, records that meet it may be in any event.
func (s *histSubject) options(f *histFlags) *reader.Options {
	o := &reader.Options{Selection: reader.Selection{Events: []string{s.name}, Where: f.condition}, Reuse: true}
	if f.tail.o != nil {
		o.Events = []string{"*"}
	}
	if s.dir == nil {
		o.Transport = reader.TransportMemory
		return o
	}
	if o.Tracefs = s.dir.Path(); !s.memory {
		o.Transport = reader.TransportKernel
	}
	return o
}

func (s *selection) lossError(st *reader.Stats) error {
	if s.strict && (st.Total.Lost > 0 || st.Total.AtLeast) {
		return silentError{errLost}
	}
	return nil
}

func hintForOpen(err error) error {
	if errors.Is(err, reader.ErrTooManyEvents) {
		return hintError{err, "select fewer by a pattern, or give --yes"}
	}
	if none, ok := errors.AsType[reader.NoMatchError](err); ok && errors.Is(uevents.Probe(kernelOnly).Err, uevents.ErrNotSupported) {
		none.Kernel = nil // it has no user events
		err = none
	}
	refused := errors.Is(err, fs.ErrPermission)
	call, _ := errors.AsType[*os.SyscallError](err)
	switch opening := call != nil && call.Syscall == "perf_event_open"; {
	case opening && refused:
		return hintForPerf(err)
	case errors.Is(err, fs.ErrInvalid):
		return usageError{err}
	case !opening && !refused && errors.Is(err, fs.ErrNotExist):
		return hintError{err, "see uevents list, or available_events in tracefs for the events of the kernel"}
	case call != nil && call.Syscall == "mmap" && refused: // too much memory: the error has the remedy
		return err
	}
	return hintForList(err)
}

// findCgroup returns the directory of a cgroup. The name may have the form of /proc/PID/cgroup.
func findCgroup(name, root string) (string, error) {
	dir := filepath.Join(root, name)
	_, err := os.Stat(dir)
	if err != nil {
		if _, err := os.Stat(name); err == nil {
			return name, nil
		}
	}
	return dir, err
}
