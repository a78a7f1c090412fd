package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/workload"
	"github.com/userevents/userevents-go/reader"
)

// topKeys are the values of --by. The first one needs no records to be read.
var topKeys = []string{topByEvent, "program", "process", "unit", "container", "pod"}

const topByEvent = "event"

// topRow is what the records of a row have in common. Members are empty if they are unknown, and if rows are not told apart by them.
type topRow struct {
	Event       string `json:"event,omitempty"` // SYSTEM:NAME
	Program     string `json:"program,omitempty"`
	PID         int32  `json:"pid,omitempty"`
	Unit        string `json:"unit,omitempty"`
	ContainerID string `json:"container_id,omitempty"`
	PodUID      string `json:"pod_uid,omitempty"`
}

// rowOf returns the row of a record.
func rowOf(ev *reader.Event, by string) (row topRow) {
	p := cmp.Or(ev.Process, &reader.Process{})
	switch by {
	case topByEvent:
		row.Event = ev.System + ":" + ev.Name
	case "program":
		row.Program = p.Program()
	case "process":
		row.Program, row.PID = p.Program(), ev.PID
	case "unit":
		row.Unit = p.Unit
	case "container":
		row.ContainerID = p.ContainerID
	case "pod":
		row.PodUID = p.PodUID
	}
	return row
}

// label returns the first cell of the row.
func (r *topRow) label() string {
	if r.PID > 0 {
		return fmt.Sprintf("%s[%d]", r.Program, r.PID)
	}
	return cmp.Or(shortName(r.Event), r.Program, r.Unit, r.ContainerID[:min(12, len(r.ContainerID))], r.PodUID)
}

func (r *topRow) compare(s topRow) int {
	return cmp.Or(
		cmp.Compare(r.Event, s.Event), cmp.Compare(r.Program, s.Program), cmp.Compare(r.PID, s.PID),
		cmp.Compare(r.Unit, s.Unit), cmp.Compare(r.ContainerID, s.ContainerID), cmp.Compare(r.PodUID, s.PodUID),
	)
}

// counts has the number of records of each row.
type counts map[topRow]uint64

// counter counts records.
type counter interface {
	// wait waits until the interval is over. It reports false if no more follow.
	wait() (bool, error)
	// counts returns a copy of the counts so far.
	counts(st *reader.Stats) counts
	// lost returns how many records are in no count.
	lost(st *reader.Stats) uint64
}

// eventCounter counts the records of events, which the kernel or the programs count themselves.
type eventCounter struct {
	ctx    context.Context
	live   live
	ticker *time.Ticker
	latest counts // of the events that programs have
	ended  counts // of events before their last program ended: they begin again at 0 with the next one
}

func newEventCounter(ctx context.Context, r live, interval time.Duration) *eventCounter {
	r.SetDeadline(time.Unix(0, 0)) // Next delivers notices without waiting
	return &eventCounter{ctx: ctx, live: r, ticker: time.NewTicker(interval), ended: counts{}}
}

func (c *eventCounter) wait() (bool, error) {
	select {
	case <-c.ctx.Done():
		return false, nil
	case <-c.ticker.C:
	}
	if err := c.live.Next(new(reader.Event)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return false, err
	}
	return true, nil
}

func (c *eventCounter) counts(st *reader.Stats) counts {
	latest := counts{}
	for _, s := range st.Events {
		latest[topRow{Event: s.Name}] += s.Matched
	}
	for row, n := range c.latest {
		if now, there := latest[row]; there && now < n || !there && len(c.ended) < maxTopRows {
			c.ended[row] += n
		}
	}
	c.latest = latest
	all := maps.Clone(c.ended)
	for row, n := range latest {
		all[row] += n
	}
	return all
}

func (*eventCounter) lost(*reader.Stats) uint64 { return 0 }

// recordCounter reads records to count them. The kernel could count by process itself, in histograms: by thread, in a trace instance
// for which it takes root, and for events that are there at the start.
type recordCounter struct {
	live        live
	by          string
	interval    time.Duration
	until       time.Time // end of the interval
	all, before counts
	stopped     chan error // the result of stopping
	end         func() bool
}

// newRecordCounter returns a recordCounter that counts until ctx is done. The caller calls its end.
func newRecordCounter(ctx context.Context, r live, by string, interval time.Duration) *recordCounter {
	c := &recordCounter{live: r, by: by, interval: interval, until: time.Now(), all: counts{}, stopped: make(chan error, 1)}
	c.end = context.AfterFunc(ctx, func() { c.stopped <- r.Stop() })
	return c
}

func (c *recordCounter) wait() (bool, error) {
	if c.until = c.until.Add(c.interval); c.until.Before(time.Now()) {
		c.until = time.Now() // this process was too slow for some intervals
	}
	c.live.SetDeadline(c.until)
	var ev reader.Event
	for n := 1; ; n++ {
		if n%256 == 0 && !time.Now().Before(c.until) {
			return true, nil // the deadline is for the next record that is not ready
		}
		switch err := c.live.Next(&ev); {
		case err == nil:
			c.all[rowOf(&ev, c.by)]++
		case errors.Is(err, os.ErrDeadlineExceeded):
			return true, nil
		case errors.Is(err, io.EOF):
			select {
			case err := <-c.stopped:
				return false, err
			default:
				return false, nil
			}
		default:
			return false, err
		}
	}
}

// maxTopRows is how many rows are kept that have no records in an interval, such as those of events and processes that have ended.
const maxTopRows = 10_000

func (c *recordCounter) counts(*reader.Stats) counts {
	all := maps.Clone(c.all)
	if len(all) > maxTopRows {
		maps.DeleteFunc(c.all, func(row topRow, n uint64) bool { return n == c.before[row] })
	}
	c.before = all
	return all
}

func (*recordCounter) lost(st *reader.Stats) uint64 { return st.Total.Lost }

// workloadNames are the names of the containers and pods in rows.
type workloadNames struct {
	root  string            // of the machine's files
	names map[string]string // by id and uid
	read  time.Time
}

// namesInterval is the interval of looks for the names of new containers and pods.
const namesInterval = 10 * time.Second

// add adds names to rows, as far as they are known.
func (w *workloadNames) add(list []hits, now time.Time) {
	for i := range list {
		h := &list[i]
		id := cmp.Or(h.ContainerID, h.PodUID)
		if id == "" {
			continue
		}
		if w.names[id] == "" && (w.read.IsZero() || now.Sub(w.read) >= namesInterval) {
			w.read = now
			w.look()
		}
		h.Name = w.names[id]
	}
}

func (w *workloadNames) look() {
	s := workload.Read(w.root)
	w.names = map[string]string{}
	for i := range s.Containers {
		if c := &s.Containers[i]; c.Name != "" {
			w.names[c.ID] = c.String()
		}
	}
	for _, p := range s.Pods {
		w.names[p.UID] = p.Namespace + "/" + p.Name
	}
}
