package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
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

const maxFailures = 10

// opened reports the attached events.
func (n *notes) opened(e *env, st *reader.Stats, took time.Duration, patterns []string) {
	events := len(st.Events)
	if events == 0 && len(n.failed) > 0 {
		n.flush() // why
		fmt.Fprintln(n.w, "waiting for an event that can be attached; Ctrl-C ends")
		return
	}
	if events == 0 && st.NeverMatch > 0 {
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
		fmt.Fprintf(n.w, "no event matches yet (%ssee uevents list%s), waiting for one; Ctrl-C ends\n", e.didYouMean(patterns), others)
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

const othersNeedRoot = "programs of other users take root"

// never says that no record of the events that are there can be selected.
func never(st *reader.Stats) string {
	of := "of the " + output.Plural(st.NeverMatch, "event") + " that match"
	if st.NeverMatch == 1 {
		of = "of the event that matches"
	}
	return "no record " + of + " can meet the condition (uevents watch --explain says why)"
}

// recording reports the events that are recorded to a file.
func (n *notes) recording(e *env, st *reader.Stats, path string, patterns, command []string) {
	what := output.Plural(len(st.Events), "event")
	switch {
	case len(st.Events) > 0:
	case len(command) > 0:
		what = "events of " + text.Printable(command[0])
	default:
		what = "events that will match (none does yet, " + e.didYouMean(patterns) + "see uevents list)"
	}
	if st.NeverMatch > 0 && len(st.Events) == 0 {
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

const lessMemory = "more is half of the free memory, or the kernel locks no more (kernel.perf_event_mlock_kb, RLIMIT_MEMLOCK)"

func (n *notes) add(format string, args ...any) {
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

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
func (n *notes) process(ev *record.Record) {
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

// sayRefused says whose events cannot be used, and that there are processes which this user may not look into. Of other users than root
// that is expected.
func sayRefused(say func(format string, args ...any), err error) {
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	for _, err := range list {
		if err != nil && (os.Geteuid() == 0 || isUnusable(err)) {
			say("! %v", err)
		}
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

func (n *notes) flush() {
	for _, kind := range []struct {
		kind reader.NoticeKind
		line string
	}{
		{reader.NoticeAttached, "+ attached %s"},
		{reader.NoticeDisabled, "! uevents did not read for 10 s, and the programs disabled %s"},
		{reader.NoticeNoWriter, "- the programs that wrote %s have exited"},
		{reader.NoticeDetached, "- detached %s: no program has them any more"},
	} {
		if names := n.names[kind.kind]; len(names) > 0 {
			n.add(kind.line+n.since(kind.kind), listed(names))
			n.names[kind.kind] = nil
			if kind.kind == reader.NoticeNoWriter && !n.release && !n.warned {
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

// lostSize is the approximate number of bytes of a ring that a record takes.
const lostSize = 128

// problemEvent and otherEvent match names of events of warnings and errors, and of those of lower levels.
var (
	problemEvent = regexp.MustCompile(`_(warn|error)$|_L[123]K[0-9a-f]+(G\w*)?$`)
	otherEvent   = regexp.MustCompile(`_(trace|debug|info)$|_L[45]K[0-9a-f]+(G\w*)?$`)
)

// addLost reports lost records by event: warnings and errors first, then the most.
func (n *notes) addLost() {
	names := slices.Collect(maps.Keys(n.lost))
	problem := map[string]int{}
	total, below := uint64(0), false
	for name, count := range n.lost {
		total += count
		if problemEvent.MatchString(name) {
			problem[name] = 1
		}
		below = below || otherEvent.MatchString(name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(problem[b]-problem[a], cmp.Compare(n.lost[b], n.lost[a]), strings.Compare(a, b))
	})
	var parts []string
	for i, name := range names {
		switch left := len(names) - i; {
		case i == 2 && left > 1:
			rest := uint64(0)
			for _, name := range names[i:] {
				rest += n.lost[name]
			}
			parts = append(parts, fmt.Sprintf("%s of %d more events", output.Count(rest), left))
		case i > 2:
		case name == "":
			parts = append(parts, output.Count(n.lost[name])+" of others")
		default:
			parts = append(parts, output.Count(n.lost[name])+" of "+name)
		}
	}
	parts[0] = strings.Replace(parts[0], " of ", " records of ", 1)
	if len(names) == 1 && names[0] == "" {
		parts[0] = output.Count(total) + " records"
	}
	what := parts[0]
	if last := len(parts) - 1; last > 0 {
		what = strings.Join(parts[:last], ", ") + " and " + parts[last]
	}
	n.add("! %s lost (ring full): %s", what, n.remedy(total, below && len(problem) > 0))
	n.lost = nil
}

// remedy says what helps against losses. beside is that records below warnings were lost beside warnings or errors.
func (n *notes) remedy(lost uint64, beside bool) string {
	most := output.MaxSize
	if n.memory {
		most = memoryRings
	}
	remedy := "select fewer records"
	if n.buffer < most {
		size := max(n.buffer, 512<<10)
		for want := min(max(4*size, size+int(min(lost, memoryRings)*lostSize)), most, max(4*size, memoryRings)); size < want; {
			size *= 2
		}
		remedy = fmt.Sprintf("--buffer %dM", min(size, most)>>20)
	}
	if beside {
		remedy += ", or --level warn"
	}
	return remedy
}

// memoryRings is the largest size of rings that programs take for their events in shared memory.
const memoryRings = 64 << 20
