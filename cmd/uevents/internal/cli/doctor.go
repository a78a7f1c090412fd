package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/perfaccess"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/structevent"
	"github.com/userevents/userevents-go/uevents"
)

// Statuses of checks.
const (
	statusOK   = "ok"
	statusWarn = "warn" // works in part, with a substitute
	statusFail = "FAIL"
	statusSkip = "skip" // not checked, since another check failed
)

type check struct {
	Name   string   `json:"name"`
	Status string   `json:"status"`
	Result string   `json:"result"`
	Remedy []string `json:"remedy,omitempty"`

	err error // of a failed check: it determines the exit code
}

func newDoctorCommand(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what works on this machine, and say what is missing",
		Long: `Checks what the kernel supports and what this user may do, each with what to do about
it, and then proves it: doctor registers an event of its own, attaches to it, writes to
it, reads the records back and compares them. It leaves nothing behind.

The exit code is that of the first check that failed; warnings do not count.`,
		Example: `  uevents doctor
  uevents doctor -o json | jq '.checks[] | select(.status == "FAIL")'`,
		Args: cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			checks := examine(e)
			var first error
			problems := 0
			for _, c := range checks {
				if c.Status == statusFail {
					problems++
					first = cmp.Or[error](first, silentError{c.err})
				}
			}
			code := exitCode(first)
			if format == "json" {
				err := writeJSON(e.out, struct {
					Checks   []check `json:"checks"`
					Problems int     `json:"problems"`
					Exit     int     `json:"exit"`
				}{checks, problems, code})
				if err != nil {
					return err
				}
				return first
			}
			e.printChecks(checks)
			if first == nil {
				_, err := fmt.Fprintln(e.out, "no problems")
				return err
			}
			fmt.Fprintf(e.out, "%s, exit %d\n", output.Plural(problems, "problem"), code)
			return first
		},
	}
	outputFlag(cmd, &format, "text", "json")
	return cmd
}

func (e *env) printChecks(checks []check) {
	colored := e.colored()
	width := 0
	for _, c := range checks {
		width = max(width, len(c.Name))
	}
	colors := map[string]string{statusOK: output.Green, statusWarn: output.Yellow, statusFail: output.Red, statusSkip: output.Faint}
	for _, c := range checks {
		line := fmt.Sprintf("%s%s  %-*s  %s", output.Paint(colored, colors[c.Status], c.Status), strings.Repeat(" ", 4-len(c.Status)), width, c.Name, text.Printable(c.Result))
		fmt.Fprintln(e.out, strings.TrimRight(line, " "))
		for _, r := range c.Remedy {
			fmt.Fprintf(e.out, "      -> %s\n", text.Printable(r))
		}
	}
}

// examination collects the results of doctor's checks, which depend on each other.
type examination struct {
	checks []check

	memory error // why shared memory does not work, or nil

	provider *uevents.Provider
	event    *structevent.Event[probe] // nil if it could not be registered
	dir      *tracefs.Dir              // nil if it was not found
	listed   bool                      // events may be listed
	readable bool                      // records may be read
}

func examine(e *env) []check {
	x := &examination{}
	each, err := memoryRoundTrip()
	x.memory = err
	x.kernel()
	x.write()
	x.list(e)
	x.read()
	x.histograms()
	x.roundTrip()
	x.remove()
	x.sharedMemory(each)
	x.programs()
	x.processes(sys.InitialNamespace("pid"))
	return x.checks
}

func (x *examination) ok(name, result string) {
	x.checks = append(x.checks, check{Name: name, Status: statusOK, Result: result})
}

func (x *examination) warn(name, result string, remedy ...string) {
	x.checks = append(x.checks, check{Name: name, Status: statusWarn, Result: result, Remedy: remedy})
}

func (x *examination) fail(name string, err error, remedy ...string) {
	result := err.Error()
	if e, ok := errors.AsType[*uevents.Error](err); ok {
		if result = fmt.Sprintf("%s: %v", e.Name, e.Err); e.Remedy != "" {
			remedy = append(remedy, e.Remedy)
		}
	}
	x.checks = append(x.checks, check{Name: name, Status: statusFail, Result: result, Remedy: remedy, err: err})
}

// lacks reports that the kernel's user_events cannot be used. Programs then use shared memory.
func (x *examination) lacks(name string, err error) {
	x.fail(name, err)
	if x.memory == nil {
		x.checks[len(x.checks)-1].Status = statusWarn
	}
}

func (x *examination) skip(name, needs string) {
	x.checks = append(x.checks, check{Name: name, Status: statusSkip, Result: "needs: " + needs})
}

// Names of the checks.
const (
	checkKernel     = "kernel"
	checkWrite      = "write events"
	checkList       = "list events"
	checkRead       = "read records"
	checkHistograms = "histograms"
	checkRoundTrip  = "round trip"
	checkRemoval    = "removal" // shown only if it fails
	checkMemory     = "memory"
	checkPrograms   = "programs"  // shown only if root may not look into all
	checkProcesses  = "processes" // shown only in another PID namespace than the first one
)

// kernel checks the kernel's support, independent of permissions.
func (x *examination) kernel() {
	report := uevents.Probe(kernelOnly)
	findings := map[string]uevents.Finding{}
	for _, f := range report.Findings {
		findings[f.What] = f
	}
	result := findings["kernel"].Result
	switch {
	case errors.Is(report.Err, uevents.ErrNotSupported):
		x.lacks(checkKernel, report.Err)
		return
	case report.ABI != uevents.ABIUnknown:
		result += ", user_events with " + report.ABI.String()
	default:
		result += ", " + findings["configuration"].Result
	}
	if lockdown := findings["lockdown"]; lockdown.Remedy != "" {
		x.fail(checkKernel, fmt.Errorf("%s, locked down (%s): %w", result, lockdown.Result, fs.ErrPermission), lockdown.Remedy)
		return
	}
	x.ok(checkKernel, result)
}

// write registers an event, like a program.
func (x *examination) write() {
	if x.failed(checkKernel) {
		x.skip(checkWrite, checkKernel)
		return
	}
	p, err := uevents.Open(kernelOnly)
	x.provider = p
	if err == nil {
		x.event, err = structevent.Define[probe](p, probeName+strconv.Itoa(os.Getpid()), nil)
	}
	if err != nil {
		x.event = nil
		x.lacks(checkWrite, err)
		return
	}
	x.ok(checkWrite, uevents.Probe(kernelOnly).DataFile)
}

// list finds tracefs, and reads the files in it that attaching needs.
func (x *examination) list(e *env) {
	dir, err := e.dir()
	if err != nil {
		if x.failed(checkKernel) || x.failed(checkWrite) {
			x.skip(checkList, checkWrite) // which has reported the reason
			return
		}
		x.fail(checkList, err)
		return
	}
	x.dir = dir
	status, err := dir.Status()
	if err == nil {
		_, err = dir.Declarations()
	}
	if err == nil {
		_, err = x.any().ID()
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		x.fail(checkList, err, setupRemedy)
		for i := range x.checks { // else two remedies for one directory contradict each other
			if c := &x.checks[i]; c.Name == checkWrite && errors.Is(c.err, fs.ErrPermission) {
				c.Remedy = []string{"the same as for " + checkList}
			}
		}
		return
	case errors.Is(err, fs.ErrNotExist) && x.failed(checkKernel):
		x.skip(checkList, checkKernel)
		return
	case err != nil:
		x.fail(checkList, err)
		return
	}
	x.listed = true
	if x.event != nil {
		status.Active--
	}
	x.ok(checkList, fmt.Sprintf("%s in %s, %d enabled", output.Plural(status.Active, "event"), dir.Path(), status.Busy))
}

// any returns an existing event: doctor's own, or else one of the kernel's that seldom happens.
func (x *examination) any() *tracefs.Event {
	if x.event != nil {
		return x.dir.Event(x.event.Name())
	}
	return x.dir.Event("sched:sched_process_exec")
}

// read attaches to an event.
func (x *examination) read() {
	if !x.listed {
		x.skip(checkRead, checkList)
		return
	}
	s, err := perf.Open(x.dir, nil)
	if err == nil {
		defer s.Close()
		_, err = s.Attach(x.any().String(), nil)
	}
	if refused, ok := errors.AsType[*perfaccess.Error](err); ok {
		refusal := refused.Process.Refused(self())
		x.fail(checkRead, fmt.Errorf("%w: %s", refused.Err, refusal.Reason), refusal.Remedies...)
		return
	}
	if err != nil {
		x.fail(checkRead, err)
		return
	}
	x.readable = true
	stats, err := s.Stats()
	if err != nil {
		x.fail(checkRead, err)
		return
	}
	const asked = 512 << 10
	switch result := fmt.Sprintf("rings of %s on %s", output.RingSize(stats.BufferSize), output.Plural(stats.CPUs, "CPU")); {
	case stats.BufferSize < asked:
		x.warn(checkRead, result+": the kernel refuses more", "raise the sysctl kernel.perf_event_mlock_kb, or give uevents CAP_IPC_LOCK")
	case len(stats.Sources) > 0 && stats.Sources[0].AtLeast:
		x.warn(checkRead, result+"; lost records are counted at least: exactly from Linux 6.0 on")
	default:
		x.ok(checkRead, result)
	}
}

const setupRemedy = "sudo uevents setup GROUP --apply, and run uevents as a member of GROUP"

// self returns the path of this program as a word for a shell.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return "$(command -v uevents)"
	}
	return shellWord(path)
}

func (x *examination) histograms() {
	if x.event == nil || !x.listed {
		x.skip(checkHistograms, checkWrite+", "+checkList)
		return
	}
	const instead = ": uevents counts in user space instead"
	if _, err := os.Stat(x.any().Path("hist")); errors.Is(err, fs.ErrNotExist) {
		x.warn(checkHistograms, "CONFIG_HIST_TRIGGERS=n"+instead)
		return
	}
	i, err := newInstance(x.dir, "doctor")
	if err == nil {
		ev := i.Event(x.any().String())
		const trigger = "hist:keys=number"
		if err = ev.AddTrigger(trigger); err == nil {
			err = ev.RemoveTrigger(trigger)
		}
		err = errors.Join(err, i.Remove())
	}
	if err != nil {
		x.warn(checkHistograms, err.Error()+instead)
		return
	}
	x.ok(checkHistograms, "in the kernel")
}

// sharedMemory reports the round trip through memory, and which programs take that way. each is the time for a record.
func (x *examination) sharedMemory(each time.Duration) {
	switch {
	case x.memory != nil && x.failed(checkWrite):
		x.fail(checkMemory, x.memory)
	case x.memory != nil:
		x.warn(checkMemory, x.memory.Error()+": programs that may not write events have none")
	case x.failed(checkWrite):
		x.ok(checkMemory, "events of programs go through shared memory, which perf, ftrace and histograms of the kernel do not see: "+equal(each))
	default:
		x.ok(checkMemory, "shared memory, for programs that may not write events: "+equal(each))
	}
}

// programs warns of programs in shared memory whose events cannot be used, and that root may not look into. Of other users that is expected.
func (x *examination) programs() {
	if _, refused, _ := memoryPrograms(); refused != nil && (os.Geteuid() == 0 || isUnusable(refused)) {
		x.warn(checkPrograms, refused.Error(), refusedRemedy)
	}
}

// processes warns of a PID namespace that lacks the processes of the machine, such as a container's.
func (x *examination) processes(all bool) {
	if !all {
		x.warn(checkProcesses, "uevents runs in a PID namespace of its own: it reads the kernel's records of all programs, but finds the processes of "+
			"this namespace alone, and those in shared memory", hostPIDRemedy)
	}
}

// hostPIDRemedy is what to do about a PID namespace of its own. A debug container in a pod cannot have the host's.
const hostPIDRemedy = "run uevents in the host's PID namespace: docker run --pid=host; in Kubernetes hostPID: true; " +
	"or in that of the program, as its user: kubectl debug --target=CONTAINER"

// refusedRemedy is what to do about processes that this user may not look into.
const refusedRemedy = "run uevents as root with these capabilities, in a container too: docker run --cap-add SYS_PTRACE --cap-add DAC_READ_SEARCH"

// failed reports whether a check did not succeed. Those of kernel and write events are warnings where shared memory works.
func (x *examination) failed(name string) bool {
	for _, c := range x.checks {
		if c.Name == name {
			return c.Status == statusFail || c.Status == statusSkip || c.Status == statusWarn && (name == checkKernel || name == checkWrite)
		}
	}
	return false
}
