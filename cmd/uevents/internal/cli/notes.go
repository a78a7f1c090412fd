package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// notes collects lines about attached events and losses. A line can name several events.
type notes struct {
	w       io.Writer
	buffer  int  // requested size of the rings
	limit   int  // of records of an event in a second; 0 means none
	release bool // events are detached when their programs have exited
	warned  bool // of EADDRINUSE without --detach-at-exit

	lines    []string
	names    [reader.NoticeDisabled + 1][]string      // of events, by kind of notice
	gaps     [reader.NoticeDisabled + 1]time.Duration // the longest
	failed   []failure
	lost     map[string]uint64
	limited  map[string]time.Duration // by event: for how long the limit has disabled it
	failures int                      // number of reported failures
	offered  bool                     // there was an event
	memory   bool                     // the events are in shared memory
	foreign  bool                     // programs of another PID namespace were reported
}

// failure is a reason for which events are not attached: the text before their names, and the one after.
type failure struct {
	before, after string
	events        []string // none if the text does not name them
}

// maxFailures is how many errors of attaching are reported individually.
const maxFailures = 10

// opened reports the attached events. similar is the question of didYouMean.
func (n *notes) opened(st *reader.Stats, took time.Duration, similar string) {
	events := len(st.Events)
	if events == 0 && len(n.failed) > 0 {
		n.flush() // why
		fmt.Fprintln(n.w, "waiting for an event that can be attached; Ctrl-C ends")
		return
	}
	if events == 0 && st.Never > 0 {
		fmt.Fprintf(n.w, "! %s, waiting for another one; Ctrl-C ends\n", never(st))
		return
	}
	if events == 0 {
		others := ""
		if os.Geteuid() > 0 {
			others = "; " + othersNeedRoot
		}
		sayNamespace(n.add)
		n.flush()
		fmt.Fprintf(n.w, "no event matches yet (%ssee uevents list%s), waiting for one; Ctrl-C ends\n", similar, others)
		return
	}
	line := fmt.Sprintf("attached %s in shared memory in %d ms; Ctrl-C ends", output.Plural(events, "event"), took.Milliseconds())
	if st.Rings > 0 { // of the kernel, which detaches slowly
		line = fmt.Sprintf("attached %s on %s in %d ms; Ctrl-C detaches in about %.1f s",
			output.Plural(events, "event"), output.Plural(st.CPUs, "CPU"), took.Milliseconds(), max(0.1, 0.033*float64(events)))
	}
	fmt.Fprintln(n.w, line)
	n.smaller(st)
}

// othersNeedRoot is said to other users than root.
const othersNeedRoot = "programs of other users take root"

// never says that no record of the events that are there can be selected.
func never(st *reader.Stats) string {
	of := "of the " + output.Plural(st.Never, "event") + " that match"
	if st.Never == 1 {
		of = "of the event that matches"
	}
	return "no record " + of + " can meet the condition (--explain says why)"
}

// recording reports the events that are recorded to a file. similar is the question of didYouMean.
func (n *notes) recording(st *reader.Stats, path string, command []string, similar string) {
	what := output.Plural(len(st.Events), "event")
	switch {
	case len(st.Events) > 0:
	case len(command) > 0:
		what = "events of " + text.Printable(command[0])
	default:
		what = "events that will match (none does yet, " + similar + "see uevents list)"
	}
	if st.Never > 0 && len(st.Events) == 0 {
		what = "events that will match"
		n.add("! %s", never(st))
	}
	fmt.Fprintf(n.w, "recording %s to %s\n", what, text.Printable(path))
	n.smaller(st)
	n.flush()
}

// smaller reports rings below the requested size. Those of the kernel are counted.
func (n *notes) smaller(st *reader.Stats) {
	n.memory = len(st.Events) > 0 && st.Rings == 0
	if st.BufferSize > 0 && st.BufferSize < n.buffer {
		n.add("! rings have %s: "+lessMemory, output.RingSize(st.BufferSize))
	}
}

// lessMemory is why rings are smaller than requested.
const lessMemory = "more is half of the free memory, or the kernel locks no more (kernel.perf_event_mlock_kb, RLIMIT_MEMLOCK)"

// add adds a line.
func (n *notes) add(format string, args ...any) {
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

// notice adds a notice of a reader.
func (n *notes) notice(notice reader.Notice) {
	name := text.Printable(shortName(notice.Event))
	switch notice.Kind {
	case reader.NoticeLost:
		if n.lost == nil {
			n.lost = map[string]uint64{}
		}
		n.lost[name] += notice.Count
	case reader.NoticeLimited:
		if n.limited == nil {
			n.limited = map[string]time.Duration{}
		}
		n.limited[name] += notice.Gap
	case reader.NoticeFailed:
		n.fail(notice)
	case reader.NoticeTransport:
		n.transport(notice.Err)
	case reader.NoticeRefused:
		sayRefused(n.add, notice.Err)
	default:
		n.offered = true
		if int(notice.Kind) < len(n.names) {
			n.gaps[notice.Kind] = max(n.gaps[notice.Kind], notice.Gap)
			n.names[notice.Kind] = append(n.names[notice.Kind], name)
		}
	}
}

// process says once that a record's process is in another PID namespace. Of the kernel's other events, the idle task has the id 0, too.
func (n *notes) process(ev *reader.Event) {
	if ev.PID != 0 || n.foreign || ev.System != tracepoint.System && ev.System != tracepoint.MultiSystem {
		return
	}
	n.foreign = true
	n.add("! programs are in another PID namespace: their records have no process")
	n.add("  -> " + hostPIDRemedy)
}

// sayNamespace says why there may be no events in shared memory.
func sayNamespace(say func(format string, args ...any)) {
	if !sys.InitialNamespace("pid") {
		say("! programs outside of this PID namespace are not found: events in their shared memory are missing")
		say("  -> " + hostPIDRemedy)
	}
}

// sayRefused says that there are processes which this user may not look into. Of other users than root that is expected.
func sayRefused(say func(format string, args ...any), err error) {
	if err != nil && os.Geteuid() == 0 {
		say("! %v", err)
	}
}

// nothing says that no event was there while the command ran, which counts of records leave open. all is that all were selected.
func (n *notes) nothing(e *env, all bool, command []string) {
	switch {
	case len(command) == 0 || n.offered || n.failures > 0:
	case all:
		e.say("! %s offered no events", command[0])
	default:
		e.say("! no event matched")
	}
}

// transport adds that the kernel's events are not read, and the remedy. A kernel without user_events has none.
func (n *notes) transport(err error) {
	if errors.Is(uevents.Probe(kernelOnly).Err, uevents.ErrNotSupported) {
		return
	}
	message, remedy := messageOf(hintForOpen(err))
	n.add("! only events in shared memory are read, not the kernel's: %s", text.Printable(message))
	for line := range strings.Lines(remedy) {
		n.add("  -> %s", strings.TrimSuffix(line, "\n"))
	}
}

// fail adds an event that is not attached. A filter, for one, is wrong for several events.
func (n *notes) fail(notice reader.Notice) {
	f := failure{before: notice.Err.Error()}
	if before, after, named := strings.Cut(f.before, notice.Event); named && notice.Event != "" {
		f = failure{before, after, []string{text.Printable(shortName(notice.Event))}}
	}
	if errors.Is(notice.Err, reader.ErrTooManyEvents) {
		f.after += "; --yes attaches to all"
	}
	for i := range n.failed {
		if same := &n.failed[i]; same.before == f.before && same.after == f.after && (same.events == nil) == (f.events == nil) {
			same.events = append(same.events, f.events...)
			return
		}
	}
	n.failed = append(n.failed, f)
}

// flush writes the collected lines.
func (n *notes) flush() {
	for _, kind := range []struct {
		kind reader.NoticeKind
		line string
	}{
		{reader.NoticeAttached, "+ attached %s"},
		{reader.NoticeDisabled, "! uevents did not read for 10 s, and the programs disabled %s"},
		{reader.NoticeEnded, "- the programs that wrote %s have exited"},
		{reader.NoticeDetached, "- detached %s: no program has them any more"},
	} {
		if names := n.names[kind.kind]; len(names) > 0 {
			n.add(kind.line+n.since(kind.kind), listed(names))
			n.names[kind.kind] = nil
			if kind.kind == reader.NoticeEnded && !n.release && !n.warned {
				n.warned = true
				n.add("  while attached, a version that changes an event's fields gets EADDRINUSE; --detach-at-exit lets it")
			}
		}
	}
	for _, f := range n.failed {
		if n.failures++; n.failures <= maxFailures {
			n.add("! %s%s%s", text.Printable(f.before), listed(f.events), text.Printable(f.after))
		} else if n.failures == maxFailures+1 {
			n.add("! more events cannot be attached")
		}
	}
	n.failed = nil
	if len(n.lost) > 0 {
		n.addLost()
	}
	if len(n.limited) > 0 {
		n.addLimited()
	}
	for _, line := range n.lines {
		fmt.Fprintln(n.w, line)
	}
	n.lines = nil
}

// since says for how long records of events may be missing.
func (n *notes) since(kind reader.NoticeKind) string {
	seconds := math.Ceil(n.gaps[kind].Seconds()*10) / 10
	n.gaps[kind] = 0
	switch {
	case kind == reader.NoticeDisabled:
		return fmt.Sprintf(": what they logged in up to %.1f s is in no count", seconds)
	case seconds > 0:
		return fmt.Sprintf(", registered in the last %.1f s", seconds)
	}
	return ""
}

// listed returns the first names of a list.
func listed(names []string) string {
	if len(names) <= 3 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:2], ", "), len(names)-2)
}
