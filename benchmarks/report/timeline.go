package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A timeline is a request of examples/service as perf recorded it: spans, log records, and when the service's threads ran.
type timeline struct {
	begin, end int64 // nanoseconds of the kernel's clock
	spans      []span
	logs       []logged
	threads    []thread
}

type span struct {
	id, parent, name string
	begin, end       int64
	depth            int // 0 has no parent on the timeline
}

// logged is a log record.
type logged struct {
	at   int64
	text string
	span string // its id
}

type thread struct {
	id   int
	runs []interval // when it was on a processor
}

type interval struct{ begin, end int64 }

func loadTimeline(dir string) (*timeline, error) {
	name := filepath.Join(dir, "6.12-timeline.txt")
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := parseTimeline(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

var (
	// The thread, the time in seconds, the event and its text, as perf script prints them with -F comm,tid,cpu,time,event,trace.
	scriptLine = regexp.MustCompile(`^ *\S.*? +(\d+) \[\d+\] +(\d+)\.(\d{9}): +(\S+): *(.*)$`)
	switchText = regexp.MustCompile(`prev_comm=(.*) prev_pid=(\d+) .* next_comm=(.*) next_pid=(\d+) `)
	textFields = map[string]*regexp.Regexp{
		"span_id":        regexp.MustCompile(`\bspan_id=([0-9a-f]+)`),
		"parent_span_id": regexp.MustCompile(`\bparent_span_id=([0-9a-f]*)`),
		"duration_ns":    regexp.MustCompile(`\bduration_ns=(\d+)`),
		"name":           regexp.MustCompile(`\bname=(.*?) \w+=`), // texts end where the next field begins
		"message":        regexp.MustCompile(`\bmessage=(.*?) \w+=`),
	}
)

func field(text, name string) string {
	if m := textFields[name].FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// parseTimeline reads the lines of perf script. Those that begin with # are about the recording.
func parseTimeline(r io.Reader) (*timeline, error) {
	t := new(timeline)
	threads := map[int]*thread{}
	since := map[int]int64{} // when the threads that run now began
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		m := scriptLine.FindStringSubmatch(lines.Text())
		if m == nil {
			return nil, fmt.Errorf("line %d is not one of perf script", n)
		}
		at, err := strconv.ParseInt(m[2]+m[3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if t.begin == 0 {
			t.begin = at
		}
		t.end = at
		switch event, text := m[4], m[5]; event {
		case "user_events:service_span":
			duration, err := strconv.ParseInt(field(text, "duration_ns"), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			t.spans = append(t.spans, span{id: field(text, "span_id"), parent: field(text, "parent_span_id"), name: field(text, "name"), begin: at - duration, end: at})
		case "sched:sched_switch":
			s := switchText.FindStringSubmatch(text)
			if s == nil {
				return nil, fmt.Errorf("line %d is not a switch of threads", n)
			}
			if ours(s[1]) {
				id, _ := strconv.Atoi(s[2])
				begin, ok := since[id]
				if !ok {
					begin = t.begin // it ran already
				}
				threadOf(threads, id).add(begin, at)
				delete(since, id)
			}
			if ours(s[3]) {
				id, _ := strconv.Atoi(s[4])
				since[id] = at
			}
		default:
			if message := field(text, "message"); message != "" {
				t.logs = append(t.logs, logged{at: at, text: strings.ToUpper(strings.TrimPrefix(event, "user_events:service_")) + " " + message, span: field(text, "span_id")})
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	for id, begin := range since {
		threadOf(threads, id).add(begin, t.end)
	}
	for _, th := range threads {
		t.threads = append(t.threads, *th)
	}
	slices.SortFunc(t.threads, func(a, b thread) int { return cmp.Compare(a.id, b.id) })
	if len(t.spans) == 0 || len(t.threads) == 0 || len(t.logs) == 0 {
		return nil, errors.New("no span, no log record or no thread of the service")
	}
	t.nest()
	return t, nil
}

// ours reports whether a thread is the service's, whose test has another name.
func ours(comm string) bool { return strings.HasPrefix(comm, "service") }

func threadOf(threads map[int]*thread, id int) *thread {
	if threads[id] == nil {
		threads[id] = &thread{id: id}
	}
	return threads[id]
}

func (t *thread) add(begin, end int64) { t.runs = append(t.runs, interval{begin, end}) }

// nest finds the depth of each span, and sorts spans by their start.
func (t *timeline) nest() {
	parents := map[string]string{}
	for _, s := range t.spans {
		parents[s.id] = s.parent
	}
	for i := range t.spans {
		for id := t.spans[i].parent; ; t.spans[i].depth++ {
			next, ok := parents[id]
			if !ok {
				break
			}
			id = next
		}
	}
	slices.SortFunc(t.spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.depth, b.depth)) })
}

// plotTimeline draws spans, a row each, above the threads that ran them.
func plotTimeline(t *timeline) string {
	const row, left, width, top = 26, 190, 640, 40
	at := func(ns int64) int {
		ns = min(max(ns, t.begin), t.end)
		return left + int(width*float64(ns-t.begin)/float64(t.end-t.begin))
	}
	rows := len(t.spans) + len(t.threads)
	bottom := top + row*rows + 18
	s := newPicture(left+width+40, bottom+34, "Spans of one request above the threads that ran them, on one time axis")
	s.text(20, 22, "start", "text bold", "spans of one request, a log record (dot), and when the threads had a processor (grey)")
	const ticks = 5
	for i := range ticks + 1 {
		ns := (t.end - t.begin) * int64(i) / ticks
		s.line(at(t.begin+ns), top-6, at(t.begin+ns), bottom)
		s.text(at(t.begin+ns), bottom+18, "middle", "weak", fmt.Sprintf("%.1f ms", float64(ns)/1e6))
	}
	y := top
	for _, sp := range t.spans {
		s.text(20+12*sp.depth, y+14, "start", "text", sp.name)
		s.add(`<rect class="own" x="%d" y="%d" width="%d" height="16" rx="2" fill-opacity="0.75"/>`, at(sp.begin), y+2, max(2, at(sp.end)-at(sp.begin)))
		for _, l := range t.logs {
			if l.span == sp.id {
				s.add(`<circle class="text" cx="%d" cy="%d" r="4"/>`, at(l.at), y+10)
				if left+width-at(sp.end) > at(sp.begin)-left { // beside the span, where there is more room
					s.text(at(sp.end)+8, y+15, "start", "text", l.text)
				} else {
					s.text(at(sp.begin)-8, y+15, "end", "text", l.text)
				}
			}
		}
		y += row
	}
	y += 18
	for _, th := range t.threads {
		s.text(20, y+14, "start", "weak", fmt.Sprintf("thread %d", th.id))
		for _, r := range th.runs {
			s.add(`<rect class="other" x="%d" y="%d" width="%d" height="12"/>`, at(r.begin), y+4, max(1, at(r.end)-at(r.begin)))
		}
		y += row
	}
	return s.end()
}
