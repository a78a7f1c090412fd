package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
)

func TestTop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		set := func(a, b uint64) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.stats.Events = []reader.EventStats{
				{Name: "user_events:myapp_a", Matched: a}, {Name: "user_events:myapp_b", Matched: b},
			}
		}
		set(0, 0)
		f.more = nil
		time.AfterFunc(500*time.Millisecond, func() { set(5, 3000) })     //nolint:forbidigo // in a synctest bubble
		time.AfterFunc(2500*time.Millisecond, func() { set(4005, 3000) }) //nolint:forbidigo // in a synctest bubble
		f.notices = []reader.Notice{{Kind: reader.NoticeAttached, Event: "user_events:myapp_c"}}
		f.stats.CPUErr = fmt.Errorf("cpu 3: %w\x1b", syscall.EMFILE)
		code, out, errs := f.run(t, "top", "--interval", "2s", "--duration", "4100ms", "--rows", "1")
		assert.Equal(t, 0, code, errs)
		assert.Equal(t, `EVENT    RATE/S  TOTAL
myapp_b   1,500  3,000
2 events, 1,503 records a second, 3,005 in total; 1 not shown: --rows 0
EVENT    RATE/S  TOTAL
myapp_a   2,000  4,005
2 events, 2,000 records a second, 7,005 in total; 1 not shown: --rows 0
`, out)
		cpu := "! records of a CPU that came online are not counted: cpu 3: too many open files\\x1b\n"
		assert.Equal(t, cpu+"+ attached myapp_c\n", errs, "each is said once")
		assert.Equal(t, reader.ReadCounts, f.o.Read)
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFeed("x")
		f.more, f.events = nil, nil
		_, out, _ := f.run(t, "top", "myapp", "-o", "json", "--duration", "1100ms")
		var h hits
		require.NoError(t, json.Unmarshal([]byte(out), &h))
		assert.Equal(t, "user_events:myapp_info", h.Event)
		assert.Equal(t, uint64(1), h.Total)
	})
}

// TestTopEnded: the counts of events stay when their last program ends, and go on with the next one. Records that found no room are
// counted, and not lost.
func TestTopEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		f.more = nil
		after := func(d time.Duration, list ...reader.EventStats) {
			time.AfterFunc(d, func() { //nolint:forbidigo // in a synctest bubble
				f.mu.Lock()
				defer f.mu.Unlock()
				f.stats.Events = list
			})
		}
		f.stats.Events = []reader.EventStats{{Name: "user_events:a", Matched: 7, Lost: 3}, {Name: "user_events:b"}}
		f.stats.Total.Lost = 3
		after(1500 * time.Millisecond)
		after(2500*time.Millisecond, reader.EventStats{Name: "user_events:a", Matched: 2})
		code, out, errs := f.run(t, "top", "--interval", "1s", "--duration", "3100ms", "--strict")
		assert.Equal(t, 0, code, errs)
		assert.Equal(t, `EVENT  RATE/S  TOTAL
a           7      7
b           0      0
2 events, 7 records a second, 7 in total
EVENT  RATE/S  TOTAL
a           0      7
b           0      0
2 events, 0 records a second, 7 in total
EVENT  RATE/S  TOTAL
a           2      9
b           0      0
2 events, 2 records a second, 9 in total
`, out)
	})
}

// eventHits returns the count of an event.
func eventHits(event string, rate float64, total uint64) hits {
	return hits{topRow: topRow{Event: event}, Rate: rate, Total: total}
}

// TestTopTerminal: on a terminal each table replaces the previous one.
func TestTopTerminal(t *testing.T) {
	var out bytes.Buffer
	size := terminalSize{80, 24}
	e := &env{out: &out, terminal: func(any) (terminalSize, bool) { return size, true }}
	f := &topFlags{format: "text", by: topByEvent}
	require.NoError(t, e.showHits(f, []hits{eventHits("sched:sched_switch", 2.4, 7)}, 1204))
	assert.Equal(t, "\x1b[H\x1b[JEVENT               RATE/S  TOTAL\nsched:sched_switch       2      7\n"+
		"1 event, 2 records a second, 7 in total; ! 1,204 lost\n", out.String())

	// A table that is larger than the terminal would scroll its head away.
	size = terminalSize{19, 6}
	out.Reset()
	list := []hits{eventHits("a", 40, 0), eventHits("b_with_a_long_näme", 30, 0), eventHits("c", 20, 0), eventHits("d", 10, 0)}
	require.NoError(t, e.showHits(f, list, 0))
	assert.Equal(t, "\x1b[H\x1b[JEVEN  RATE/S  TOTAL\na         40      0\nb_wi      30      0\nc         20      0\n4 events, 100 recor\n", out.String())
	size = terminalSize{32, 1}
	out.Reset()
	require.NoError(t, e.showHits(f, list[1:], 0))
	assert.Equal(t, "\x1b[H\x1b[JEVENT              RATE/S  TOTAL\nb_with_a_long_näm      30      0\n3 events, 60 records a second, 0\n", out.String(), "one event at least")
}

// TestTopBy: records are read, and not decoded, to see who wrote them.
func TestTopBy(t *testing.T) {
	id := containerID("a1")
	of := func(pid int32, exe string, p record.Process) record.Record {
		p.PID, p.Comm, p.Exe = pid, "comm", exe
		return record.Record{System: "user_events", Name: "myapp_info", PID: pid, Process: &p}
	}
	events := []record.Record{
		of(1, "/bin/a", record.Process{Unit: "a.service"}),
		of(2, "/bin/a", record.Process{Unit: "a.service", ContainerID: id, PodUID: podUID}),
		of(3, "", record.Process{Unit: "b\x1b.service"}),
		{System: "sched", Name: "x"},
		of(2, "/bin/a", record.Process{Unit: "a.service", ContainerID: id}),
	}
	for by, want := range map[string]string{
		"program":   "PROGRAM  RATE/S  TOTAL\na             2      3\n-             1      1\ncomm          1      1\n3 programs, ",
		"process":   "PROCESS  RATE/S  TOTAL\na[2]          1      2\n-             1      1\na[1]          1      1\ncomm[3]       1      1\n4 processes, ",
		"unit":      "UNIT           RATE/S  TOTAL\na.service           2      3\n-                   1      1\nb\\x1b.service       1      1\n3 units, ",
		"container": "CONTAINER     RATE/S  TOTAL\n-                  2      3\na10000000000       1      2\n2 containers, ",
		"pod":       "POD                                   RATE/S  TOTAL\n-                                          2      4\n" + podUID + "       1      1\n2 pods, ",
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFeed()
			f.events, f.more = events, nil
			f.stats.Events[0].Lost = 1204
			f.notices = []reader.Notice{{Kind: reader.NoticeLost, Event: "user_events:myapp_info", Count: 1204}}
			code, out, errs := f.run(t, "top", "--by", by, "--interval", "2s", "--duration", "2100ms", "--buffer", "1M", "--strict")
			assert.Equal(t, exitLost, code, errs)
			assert.Equal(t, want+"3 records a second, 5 in total; ! 1,204 lost\n", out)
			assert.Equal(t, "! 1,204 records of myapp_info lost (ring full): --buffer 4M\n", errs)
			assert.Equal(t, reader.ReadStream, f.o.Read)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		f.events, f.more = events, nil
		_, out, errs := f.run(t, "top", "--pid", fmt.Sprint(os.Getpid()), "-o", "json", "--interval", "1s", "--duration", "1100ms")
		assert.Equal(t, reader.ReadStream, f.o.Read, "counting tells processes not apart")
		assert.Regexp(t, `^\{"time":"[^"]+Z","event":"user_events:myapp_info","rate":4,"records":4,"total":4\}\n`+
			`\{"time":"[^"]+Z","event":"sched:x","rate":1,"records":1,"total":1\}\n$`, out, errs)
	})
}

// TestTopByRates: each table has the rates of its interval, and records that are always ready do not put it off.
func TestTopByRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		f.more = nil
		add := func(n int) func() {
			return func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				for range n {
					f.events = append(f.events, newRecord("", 0))
				}
			}
		}
		time.AfterFunc(500*time.Millisecond, add(3000))  //nolint:forbidigo // in a synctest bubble
		time.AfterFunc(2500*time.Millisecond, add(1000)) //nolint:forbidigo // in a synctest bubble
		code, out, errs := f.run(t, "top", "--by", "process", "--interval", "2s", "--duration", "6100ms")
		assert.Equal(t, 0, code, errs)
		assert.Equal(t, `PROCESS     RATE/S  TOTAL
myapp[812]   1,500  3,000
1 process, 1,500 records a second, 3,000 in total
PROCESS     RATE/S  TOTAL
myapp[812]     500  4,000
1 process, 500 records a second, 4,000 in total
PROCESS     RATE/S  TOTAL
myapp[812]       0  4,000
1 process, 0 records a second, 4,000 in total
`, out)
	})

	tables := 0
	s := session{e: &env{now: time.Now}, source: &endless{}, every: time.Nanosecond, handle: func(*record.Record) error { return nil }}
	s.tick = func() error {
		if tables++; tables == 3 {
			return io.ErrClosedPipe
		}
		return nil
	}
	assert.ErrorIs(t, s.read(), io.ErrClosedPipe, "it ticks, and its error ends reading")
}

// endless is a reader that always has a record.
type endless struct{ feed }

func (*endless) Next(ev *record.Record) error {
	*ev = newRecord("", 0)
	return nil
}

// TestTopEnds: the end of reading and its errors are those of the command.
func TestTopEnds(t *testing.T) {
	f := newFeed("one")
	code, out, errs := f.run(t, "top", "--by", "program")
	assert.Equal(t, 0, code, errs)
	assert.Regexp(t, `(?s)^PROGRAM .* 1 in total\n$`, out, "it ends before an interval")
	s := session{e: &env{now: time.Now}, source: &failing{err: os.ErrClosed}}
	assert.ErrorIs(t, s.until(t.Context(), nil), os.ErrClosed)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stopping := make(chan struct{})
	s.source, s.stopping = &failing{err: io.EOF, after: stopping}, func() { close(stopping) }
	assert.ErrorIs(t, s.until(ctx, nil), syscall.EIO)
}

// failing is a reader that fails.
type failing struct {
	feed

	err   error
	after chan struct{} // nil, or closed when Next may return
}

func (f *failing) Next(*record.Record) error {
	if f.after != nil {
		<-f.after
	}
	return f.err
}

func (*failing) Stop() error { return syscall.EIO }

// TestTopRowsBounded: rows without records are forgotten when there are very many, such as of processes that have ended.
func TestTopRowsBounded(t *testing.T) {
	c := topCounter{all: counts{}}
	next := func() counts {
		c.before = c.recordCounts()
		return c.before
	}
	row := func(pid int) topRow { return topRow{PID: int32(pid)} }
	for pid := range maxTopRows {
		c.all[row(pid)] = 1
	}
	assert.Len(t, next(), maxTopRows)
	assert.Len(t, next(), maxTopRows)
	c.all[row(maxTopRows)] = 1
	c.all[row(7)]++
	assert.Len(t, next(), maxTopRows+1)
	assert.Equal(t, counts{row(7): 2, row(maxTopRows): 1}, next())
}

// TestTopNames: containers and pods have names, which are looked for at most every few seconds.
func TestTopNames(t *testing.T) {
	w := workloadNames{root: workloadFiles(t)}
	uid0 := "0" + podUID[1:]
	at := time.Unix(1e9, 0)
	container := func(digits string) hits { return hits{topRow: topRow{ContainerID: containerID(digits)}} }
	list := []hits{{}, container("b1"), {topRow: topRow{PodUID: uid0}}, container("d1"), container("ff")}
	w.add(list, at)
	var names []string
	for _, h := range list {
		names = append(names, h.Name)
	}
	assert.Equal(t, []string{"", "db (docker b10000000000)", "default/web-0", "test/web-0/app (d10000000000)", ""}, names)

	dir := filepath.Join(w.root, "var/lib/docker/containers", containerID("ff"))
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.v2.json"), []byte(`{"Name":"/late"}`), 0o600))
	for after, want := range map[time.Duration]string{namesInterval - 1: "", namesInterval: "late (docker ff0000000000)"} {
		later := workloadNames{w.root, w.names, w.read}
		list = []hits{container("ff")}
		later.add(list, at.Add(after))
		assert.Equal(t, want, list[0].Name)
	}
}
