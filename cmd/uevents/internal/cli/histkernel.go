package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// inKernel makes the kernel count for the duration, or until ctx is done. If the kernel cannot, it returns the reason
// and a nil error.
func (h *histogram) inKernel(ctx context.Context, dir *tracefs.Dir, event *tracefs.Event, format tracepoint.Format, f *histFlags) (reason string, err error) {
	status, err := dir.Status()
	if err != nil {
		return "", hintForList(err)
	}
	for _, name := range []string{f.by, f.sum} {
		i := slices.IndexFunc(format.Fields, func(f tracepoint.FormatField) bool { return f.Name == name })
		switch {
		case name == "":
		case i < 0:
			return name + " is no field of the event", nil
		case status.Max > 0 && format.Fields[i].Type.Location != tracepoint.Fixed:
			return "before Linux 6.4 its histograms count texts by where they are", nil
		default:
			h.signed = format.Fields[i].Type.Kind.Signed() // the last one is the sum
		}
	}
	if _, err := os.Stat(event.Path("hist")); errors.Is(err, fs.ErrNotExist) {
		return "the kernel has no histograms (CONFIG_HIST_TRIGGERS=n)", nil
	}
	removeDeadInstances(dir, "/proc")
	name, err := instanceName("hist", "/proc")
	if err != nil {
		return "", err
	}
	i, err := dir.NewInstance(name)
	if errors.Is(err, fs.ErrPermission) {
		return "this user may not make trace instances", nil
	} else if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, i.Remove()) }()
	ev := i.Event(event.String())
	if err := ev.AddTrigger(histTrigger(f, "")); err != nil {
		// What is wrong with the condition, the reader says, too.
		return err.Error(), nil
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, f.duration)
	defer cancel()
	<-ctx.Done()
	// What is printed while the kernel counts on agrees with nothing.
	if err := ev.AddTrigger(histTrigger(f, ":pause")); err != nil {
		return "", err
	}
	h.Seconds = time.Since(start).Seconds()
	hist, err := ev.Hist()
	if err != nil {
		return "", err
	}
	return "", h.parse(hist)
}

// maxHistRows is how many values are told apart.
const maxHistRows = 8192

// histTrigger returns the trigger for a histogram, or with what to do with it the one that does it.
func histTrigger(f *histFlags, do string) string {
	trigger := "hist:keys=" + f.by
	if f.log2 {
		trigger += ".log2"
	}
	if f.sum != "" {
		trigger += ":vals=" + f.sum
	}
	trigger += ":size=" + strconv.Itoa(maxHistRows) + do
	if f.filter != "" {
		trigger += " if " + f.filter
	}
	return trigger
}

var (
	histEntry  = regexp.MustCompile(`^ *\} hitcount: +(\d+)(?:  \S+: +(\d+))?$`)
	histTotals = regexp.MustCompile(`^\s*Hits: (\d+)\n\s*Entries: (\d+)\n\s*Dropped: (\d+)\n`)
)

// parse parses the kernel's text of a histogram. Values are texts of programs, which the kernel prints unescaped: a
// value that imitates an entry contradicts the totals.
func (h *histogram) parse(hist string) error {
	body, totals, ok := cutLast(hist, "\nTotals:\n")
	t := histTotals.FindStringSubmatch(totals)
	_, body, header := strings.Cut(body, "\n\n")
	if !ok || !header || t == nil {
		return fmt.Errorf("histogram of %s: the kernel's text is not understood", h.Event)
	}
	var hits uint64
	entry := ""
	h.Rows = []histRow{}
	for line := range strings.Lines(body) {
		entry += line
		value, isEntry := strings.CutPrefix(strings.TrimSuffix(entry, "\n"), "{ "+h.By+": ")
		if entry == "\n" {
			entry = ""
		}
		end := strings.LastIndex(value, "} hitcount:")
		if !isEntry || end < 0 {
			continue
		}
		m := histEntry.FindStringSubmatch(value[end:])
		if m == nil || (m[2] != "") != (h.Sum != "") {
			continue
		}
		n, err := strconv.ParseUint(m[1], 10, 64)
		if err != nil || n == 0 { // the kernel makes an entry for a hit
			continue
		}
		sum, _ := strconv.ParseUint(m[2], 10, 64)
		row := histRow{text.Printable(strings.TrimSpace(value[:end])), n, float64(sum)}
		if h.signed { // the kernel prints it without sign
			row.Sum = float64(int64(sum))
		}
		h.Rows = append(h.Rows, row)
		hits += n
		entry = ""
	}
	// A hit is counted in the total first. When the histogram was paused, each CPU can have been in between.
	total, err := strconv.ParseUint(t[1], 10, 64)
	if err != nil || entry != "" || strconv.Itoa(len(h.Rows)) != t[2] || hits > total || total-hits > uint64(runtime.NumCPU()) {
		return fmt.Errorf("histogram of %s: values of %s cannot be told apart, as a program writes texts of several lines", h.Event, h.By)
	}
	h.Dropped, _ = strconv.ParseUint(t[3], 10, 64)
	return nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i+1], s[i+len(sep):], true
	}
	return s, "", false
}
