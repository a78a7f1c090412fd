package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/uevents"
)

// live is the part of reader.Reader that commands use. Tests have their own.
type live interface {
	Next(ev *record.Record) error
	SetDeadline(t time.Time)
	Stats() (reader.Stats, error)
	AttachProcess(pid int)
	Stop() error
	Close() error
}

// openLive attaches to the selected events.
func openLive(o *reader.Options) (live, error) {
	r, err := reader.Open(o)
	if err != nil {
		return nil, err
	}
	return r, nil
}

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
	strict, explain        bool
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
	flags.BoolVar(&s.explain, "explain", false, "say what of the condition the kernel evaluates for each event, and what uevents does, and end")
	flags.BoolVar(&s.noFollow, "no-follow", false, "leave out events that appear later")
	flags.BoolVar(&s.yes, "yes", false, fmt.Sprintf("attach to more than %d events of the kernel, or of a program in shared memory", maxEvents))
	s.addConditions(e, cmd)
	cmd.ValidArgsFunction = e.completeEvents
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
		Events: orAll(patterns), Excludes: s.excludes, Processes: s.pids,
		NoFollow: s.noFollow, DetachAtExit: s.release, Reuse: true,
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
