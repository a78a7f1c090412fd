package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/tracepoint"
)

type histTask struct {
	by     []histField
	sum    string // field of the tracepoint
	signed bool   // of the sum
	filter string
	log2   bool
}

// histField is a field whose values are told apart, and the name that the command line gives it.
type histField struct {
	tracepoint.FormatField

	name string
}

// kernelTask returns what makes the kernel count, or the reason for which it cannot.
func kernelTask(format tracepoint.Format, system string, texts bool, f *histFlags) (task histTask, reason string, err error) {
	d, err := record.NewDecoder(system, format)
	if err != nil {
		return task, "", err
	}
	switch {
	case f.percentiles:
		return task, "it has no percentiles", nil
	case f.tail.o != nil:
		return task, "it does not evaluate --when", nil
	}
	plan := f.condition.Plan(d, texts)
	if task.filter = plan.Kernel; plan.Never || len(plan.Reader) > 0 {
		return task, "it does not evaluate " + strings.Join(append(plan.Reader, f.condition.String())[:max(1, len(plan.Reader))], " nor "), nil
	}
	for _, name := range f.by {
		field, ok := where.FieldOf(d, name)
		switch isText := field.Type.IsText(); {
		case !ok:
			return task, name + " is no field of the event", nil
		case isText && field.Type.Location != tracepoint.Fixed && !texts:
			return task, "before Linux 6.4 its histograms count texts by where they are", nil
		case !isText && (field.Type.Location != tracepoint.Fixed || field.Type.Len > 0 || field.Type.Kind == tracepoint.Struct):
			return task, name + " is neither a number nor a text", nil
		}
		task.by = append(task.by, histField{field, name})
	}
	if f.sum != "" {
		field, ok := where.FieldOf(d, f.sum)
		if !ok || !slices.Contains(operators(field.Type, true), "<") {
			return task, f.sum + " is no number among the fields of the event", nil
		}
		task.sum, task.signed = field.Name, field.Type.Kind.Signed()
	}
	task.log2 = f.log2
	return task, "", nil
}

// inKernel makes the kernel count for the duration, or until ctx is done. If the kernel cannot, it returns the reason
// and a nil error.
func (h *histogram) inKernel(ctx context.Context, dir *tracefs.Dir, event *tracefs.Event, format tracepoint.Format, f *histFlags) (reason string, err error) {
	status, err := dir.Status()
	if err != nil {
		return "", hintForList(err)
	}
	task, reason, err := kernelTask(format, event.System(), status.Max == 0, f)
	if reason != "" || err != nil {
		return reason, err
	}
	if _, err := os.Stat(event.Path("hist")); errors.Is(err, fs.ErrNotExist) {
		return "the kernel has no histograms (CONFIG_HIST_TRIGGERS=n)", nil
	}
	i, err := newInstance(dir, "hist")
	if errors.Is(err, fs.ErrPermission) {
		return "this user may not make trace instances", nil
	} else if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, i.Remove()) }()
	ev := i.Event(event.String())
	if err := ev.AddTrigger(task.trigger("")); err != nil {
		return err.Error(), nil // such as a table that is too large
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, f.duration)
	defer cancel()
	<-ctx.Done()
	// What is printed while the kernel counts on agrees with nothing.
	if err := ev.AddTrigger(task.trigger(":pause")); err != nil {
		return "", err
	}
	h.Seconds = time.Since(start).Seconds()
	hist, err := ev.Hist()
	if err != nil {
		return "", err
	}
	return "", h.parse(hist, &task)
}

const maxHistRows = 8192

// trigger returns the trigger for a histogram, or with what to do with it the one that does it.
func (t *histTask) trigger(do string) string {
	var keys []string
	for _, by := range t.by {
		key := by.Name
		if t.log2 {
			key += ".log2"
		}
		keys = append(keys, key)
	}
	trigger := "hist:keys=" + strings.Join(keys, ",")
	if t.sum != "" {
		trigger += ":vals=" + t.sum
	}
	trigger += ":size=" + strconv.Itoa(maxHistRows) + do
	if t.filter != "" {
		trigger += " if " + t.filter
	}
	return trigger
}

var (
	histEntry  = regexp.MustCompile(`^ *\} hitcount: +(\d+)(?:  \S+: +(\d+))?$`)
	histTotals = regexp.MustCompile(`^\s*Hits: (\d+)\n\s*Entries: (\d+)\n\s*Dropped: (\d+)\n`)
)

// parse parses the kernel's text of a histogram. Values are texts of programs, which the kernel prints unescaped: a
// value that imitates an entry contradicts the totals.
func (h *histogram) parse(hist string, task *histTask) error {
	body, totals, ok := cutLast(hist, "\nTotals:\n")
	t := histTotals.FindStringSubmatch(totals)
	_, body, header := strings.Cut(body+"\n", "\n\n")
	if !ok || !header || t == nil {
		return fmt.Errorf("histogram of %s: the kernel's text is not understood", h.Event)
	}
	var rows histRows
	var hits uint64
	entries, entry := 0, ""
	for line := range strings.Lines(body) {
		entry += line
		value, isEntry := strings.CutPrefix(strings.TrimSuffix(entry, "\n"), "{ "+task.by[0].Name+": ")
		if entry == "\n" {
			entry = ""
		}
		end := strings.LastIndex(value, "} hitcount:")
		if !isEntry || end < 0 {
			continue
		}
		m := histEntry.FindStringSubmatch(value[end:])
		if m == nil || (m[2] != "") != (task.sum != "") {
			continue
		}
		n, err := strconv.ParseUint(m[1], 10, 64)
		keys, ok := task.keys(value[:end])
		if err != nil || n == 0 || !ok { // the kernel makes an entry for a hit
			continue
		}
		sum, _ := strconv.ParseUint(m[2], 10, 64)
		row := histRow{Keys: keys, Hits: n, Sum: float64(sum)}
		if task.signed { // the kernel prints it without sign
			row.Sum = float64(int64(sum))
		}
		if task.sum != "" {
			row.Numbers = n // the field is in all records
		}
		h.add(&rows, task, row)
		entries++
		hits += n
		entry = ""
	}
	// A hit is counted in the total first. When the histogram was paused, each CPU can have been in between.
	total, err := strconv.ParseUint(t[1], 10, 64)
	if err != nil || entry != "" || strconv.Itoa(entries) != t[2] || hits > total || total-hits > uint64(runtime.NumCPU()) {
		return fmt.Errorf("histogram of %s: values of %s cannot be told apart, as a program writes texts of several lines", h.Event, strings.Join(h.By, ", "))
	}
	h.Dropped, _ = strconv.ParseUint(t[3], 10, 64)
	h.Dropped += rows.dropped
	h.Rows = rows.list()
	return nil
}

// add adds an entry of the kernel to its row. Several entries have the same keys, such as those of several levels that are TRACE. Records
// without a level have no row.
func (h *histogram) add(rows *histRows, task *histTask, entry histRow) {
	undefined := record.Severity(0).String()
	lacks := 0
	for i, by := range task.by {
		if by.name == "level" && by.isNumber() && entry.Keys[i] == undefined {
			entry.Keys[i] = ""
			lacks++
		}
	}
	if lacks == len(task.by) {
		h.Without += entry.Hits
	} else {
		rows.add(entry)
	}
}

// keys returns the keys of an entry: the value of the first field, and behind its name that of the second. A text can imitate what
// separates them, and a number cannot.
func (t *histTask) keys(values string) (keys []string, ok bool) {
	list := []string{values}
	if len(t.by) > 1 {
		sep := ", " + t.by[1].Name + ": "
		cut := cutLast
		if t.by[0].isNumber() {
			cut = strings.Cut
		}
		before, after, found := cut(values, sep)
		if !found {
			return nil, false
		}
		list = []string{before, after}
	}
	for i, by := range t.by {
		key, ok := by.key(strings.TrimSpace(list[i]), t.log2)
		if !ok {
			return nil, false
		}
		keys = append(keys, key)
	}
	return keys, true
}

// isNumber reports whether the kernel prints digits: other fields are texts.
func (f *histField) isNumber() bool { return !f.Type.IsText() }

// key returns the printable value of a field, or false if the field is a number and the value none. The kernel prints numbers without
// sign.
func (f *histField) key(printed string, log2 bool) (key string, ok bool) {
	if !f.isNumber() {
		return text.Printable(printed), true
	}
	digits := printed
	if log2 {
		if digits, ok = strings.CutPrefix(printed, "~ 2^"); !ok {
			return "", false
		}
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || log2 {
		return printed, err == nil
	}
	unused := 64 - 8*f.Size
	number := strconv.FormatUint(n<<unused>>unused, 10)
	if f.Type.Kind.Signed() {
		number = strconv.FormatInt(int64(n<<unused)>>unused, 10)
	}
	if f.name == "level" {
		v, _ := strconv.ParseInt(number, 10, 64)
		return record.SeverityOf(f.FormatField, v).String(), true
	}
	return number, true
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// ownInstance matches names of the command's instances: the process's id, its start time, and the PID namespace of the id.
// They tell which instances were left by killed processes.
var ownInstance = regexp.MustCompile(`^uevents_(?:hist|doctor)_(\d+)_(\d+)_(\d+)$`)

// newInstance returns a new instance for a command, and removes those that killed processes have left.
func newInstance(dir *tracefs.Dir, command string) (*tracefs.Instance, error) {
	removeDeadInstances(dir, "/proc")
	name, err := instanceName(command, "/proc")
	if err != nil {
		return nil, err
	}
	return dir.NewInstance(name)
}

func instanceName(command, proc string) (string, error) {
	start, err := startTime(proc, "self")
	if err != nil {
		return "", err
	}
	namespace, err := pidNamespace(proc)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("uevents_%s_%d_%s_%s", command, os.Getpid(), start, namespace), nil
}

// startTime returns when a process started, in ticks since the machine did.
func startTime(proc, pid string) (string, error) {
	stat, err := os.ReadFile(filepath.Join(proc, pid, "stat"))
	if err != nil {
		return "", err
	}
	fields := statFields(string(stat))
	if len(fields) < 20 {
		return "", fmt.Errorf("reading /proc/%s/stat: %w", pid, syscall.EIO)
	}
	return fields[19], nil
}

// statFields returns the fields of /proc/PID/stat from the third one on: proc_pid_stat(5). The second one is the name in parentheses, which
// can have any character.
func statFields(stat string) []string {
	return strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
}

func pidNamespace(proc string) (string, error) {
	link, err := os.Readlink(filepath.Join(proc, "self", "ns", "pid")) // pid:[4026531836]
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimPrefix(link, "pid:["), "]"), nil
}

// removeDeadInstances removes instances of killed processes in the PID namespace of this process. It cannot see whether
// others run.
func removeDeadInstances(dir *tracefs.Dir, proc string) {
	self, err := os.Readlink(filepath.Join(proc, "self"))
	if err != nil || self != strconv.Itoa(os.Getpid()) {
		return // proc is that of another namespace
	}
	namespace, err := pidNamespace(proc)
	if err != nil {
		return // creating an instance will report the error
	}
	names, err := dir.Instances()
	if err != nil {
		return // likewise
	}
	for _, name := range names {
		m := ownInstance.FindStringSubmatch(name)
		if m == nil || m[3] != namespace {
			continue
		}
		start, err := startTime(proc, m[1])
		if err == nil && start == m[2] || err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if i, err := dir.Instance(name); err == nil {
			_ = i.Remove() // another uevents may remove it at the same time
		}
	}
}
