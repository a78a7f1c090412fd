// Package tail selects records by others that come later: the debug records of exactly those requests that failed.
//
//	buffer, err := tail.New(tail.Options{When: failed, By: "trace_id"})
//	...
//	for ev, err := range r.Events(ctx) {
//		...
//		buffer.Add(ev)
//		for ev := buffer.Next(); ev != nil; ev = buffer.Next() {
//			show(ev)
//		}
//	}
//
// A [Buffer] holds each record for a time, in bounded memory. A record that meets the condition lets through all that have the same
// value of a name, which it has as well: those that are held, and those that follow within that time. All others are dropped and
// counted.
//
// Time is that of the records. Without records nothing expires, and nothing grows.
package tail

import (
	"fmt"
	"io/fs"
	"math"
	"time"

	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
)

// Options configure a [Buffer].
type Options struct {
	// When is the condition. It must be set.
	When *where.Condition
	// By is the name whose value records share, as conditions name it: a part of records such as trace_id, or an attribute such as
	// request_id.
	By string
	// Window is how long a record is held, and how long after one that meets the condition others with its value are let through;
	// 10 s if it is 0.
	Window time.Duration
	// WallTime goes by Event.Time, as for recordings of several machines or boots, and if that goes back by more than Window, on from
	// there; else by Event.Monotonic, which cannot be set.
	WallTime bool
	// Bytes limits the memory, [MinBytes] or more; 64 MiB if it is 0. The oldest records make room for new ones.
	Bytes int
}

// Stats counts records. Each that was added is in one of the first five counts.
type Stats struct {
	Held    int    // now
	Shown   uint64 // returned by Next
	Expired uint64 // dropped after Options.Window
	Evicted uint64 // dropped to make room
	Without uint64 // dropped at once: they lack the value of Options.By, and do not meet the condition
	With    uint64 // of all, those that have the value
	Bytes   int    // of memory, now
}

// Defaults and the least value of [Options].
const (
	DefaultWindow = 10 * time.Second
	defaultBytes  = 64 << 20
	MinBytes      = 1 << 20
)

// Buffer holds records. It must not be used concurrently.
type Buffer struct {
	o      Options
	by     func(*record.Record) (record.Value, bool)
	groups map[string]*group
	chunks []*chunk // oldest first; the last one is being filled
	spare  *chunk
	shared map[any]int // of decoders and processes, the chunks that refer to them
	bytes  int
	last   int64  // the latest time of a record
	begun  bool   // it is set
	now    uint64 // a clock that goes on as last does, from 0
	marks  []mark // of the groups that are let through, oldest first
	from   int    // marks before have ended
	marked int    // bytes of these groups
	stats  Stats
	key    []byte

	// For Next:
	opened *group         // that is let through; nil if none is
	passed *record.Record // the record that was added, if it is let through
	ev     record.Record  // a held record
}

// New returns an empty Buffer.
func New(o Options) (*Buffer, error) {
	if o.Window == 0 {
		o.Window = DefaultWindow
	}
	if o.Bytes == 0 {
		o.Bytes = defaultBytes
	}
	switch {
	case o.When == nil:
		return nil, fmt.Errorf("tail: no condition: %w", fs.ErrInvalid)
	case o.By == "":
		return nil, fmt.Errorf("tail: no name of the value that records share: %w", fs.ErrInvalid)
	case o.Window < 0:
		return nil, fmt.Errorf("tail: the window is %s: %w", o.Window, fs.ErrInvalid)
	case o.Bytes < MinBytes:
		return nil, fmt.Errorf("tail: %d bytes are less than %d: %w", o.Bytes, MinBytes, fs.ErrInvalid)
	}
	return &Buffer{o: o, by: where.ValueOf(o.By), groups: map[string]*group{}, shared: map[any]int{}}, nil
}

// Add adds a record. The caller then calls Next until it returns nil, and leaves ev
// unchanged meanwhile.
func (b *Buffer) Add(ev *record.Record) {
	for b.Next() != nil { // the caller did not want them
		b.stats.Shown--
		b.stats.Evicted++
	}
	b.advance(b.timeOf(ev))
	match := b.o.When.Match(ev)
	v, ok := b.by(ev)
	if !ok {
		if match {
			b.passed = ev
		} else {
			b.stats.Without++
		}
		return
	}
	b.stats.With++
	b.key = v.AppendText(b.key[:0])
	if len(b.key) > maxKey {
		b.key = b.key[:maxKey]
	}
	g := b.groups[string(b.key)]
	switch {
	case match:
		b.opened = b.groupOf(g)
		b.mark(b.opened)
		b.passed = ev
	case g != nil && g.marked && !b.expired(g.since):
		b.passed = ev
	default:
		b.hold(g, ev)
	}
	b.shrink()
}

// Next returns the next record that is let through, in the order of adding, or nil. It is decoded as the one that was added, and valid
// until the next call of Next or Add.
func (b *Buffer) Next() *record.Record {
	if b.opened != nil {
		if ev := b.take(b.opened); ev != nil {
			b.stats.Shown++
			return ev
		}
		b.opened = nil
	}
	ev := b.passed
	if b.passed = nil; ev != nil {
		b.stats.Shown++
	}
	return ev
}

// Pass calls Add, and show for each record that Next returns, until it returns an error.
func (b *Buffer) Pass(ev *record.Record, show func(*record.Record) error) error {
	b.Add(ev)
	for through := b.Next(); through != nil; through = b.Next() {
		if err := show(through); err != nil {
			return err
		}
	}
	return nil
}

// Options returns the options, with the defaults that New has chosen.
func (b *Buffer) Options() Options { return b.o }

// Stats returns the counts.
func (b *Buffer) Stats() Stats {
	st := b.stats
	st.Bytes = b.bytes
	return st
}

// timeOf returns the time of a record in nanoseconds.
func (b *Buffer) timeOf(ev *record.Record) int64 {
	if ev.Monotonic != 0 && !b.o.WallTime {
		return int64(min(ev.Monotonic, math.MaxInt64))
	}
	const limit = math.MaxInt64/int64(time.Second) - 1
	switch s := ev.Time.Unix(); {
	case s > limit:
		return math.MaxInt64
	case s < -limit:
		return math.MinInt64
	}
	return ev.Time.UnixNano()
}
