// Package tail selects records by others that come later: the debug records of exactly those requests that failed.
//
//	buffer, err := tail.New(tail.Options{When: failed, By: "trace_id"})
//	...
//	for ev, err := range r.Events(ctx) {
//		...
//		if err := buffer.Add(ev, show); err != nil {
//
// A [Buffer] holds each record for a time, in bounded memory. A record that meets the condition lets through all that have the same
// value of a name, which it has as well: those that are held, and those that follow within that time. All others are dropped and
// counted.
//
// Time is that of the records. Without records nothing expires, and nothing grows.
package tail

import (
	"fmt"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/reader"
)

// Options configure a [Buffer].
type Options struct {
	// When is the condition. It must be set.
	When *reader.Condition
	// By is the name whose value records share, as conditions name it: a part of records such as trace_id, or an attribute such as
	// request_id.
	By string
	// Window is how long a record is held, and how long after one that meets the condition others with its value are let through;
	// 10 s if it is 0.
	Window time.Duration
	// Bytes limits the memory, of 512 KiB or more; 64 MiB if it is 0. The oldest records make room for new ones.
	Bytes int
}

// Stats counts records.
type Stats struct {
	Held    int    // now
	Shown   uint64 // passed on
	Expired uint64 // dropped after Options.Window
	Evicted uint64 // dropped to make room
	Without uint64 // dropped at once: they lack the value of Options.By, and do not meet the condition
	Bytes   int    // of memory, now
}

// The defaults of [Options].
const (
	DefaultWindow = 10 * time.Second
	DefaultBytes  = 64 << 20
)

// Buffer holds records. It must not be used concurrently.
type Buffer struct {
	o      Options
	by     func(*reader.Event) (reader.Value, bool)
	groups map[string]*group
	chunks []*chunk // oldest first; the last one is being filled
	spare  *chunk
	bytes  int
	now    uint64 // the latest time of a record
	stats  Stats
	key    []byte
	ev     reader.Event // of a held record
}

// New returns an empty Buffer.
func New(o Options) (*Buffer, error) {
	if o.Window == 0 {
		o.Window = DefaultWindow
	}
	if o.Bytes == 0 {
		o.Bytes = DefaultBytes
	}
	switch {
	case o.When == nil:
		return nil, fmt.Errorf("tail: no condition: %w", errno.EINVAL)
	case o.By == "":
		return nil, fmt.Errorf("tail: no name of the value that records share: %w", errno.EINVAL)
	case o.Window < 0:
		return nil, fmt.Errorf("tail: the window is %s: %w", o.Window, errno.EINVAL)
	case o.Bytes < 2*chunkSize:
		return nil, fmt.Errorf("tail: %d bytes are less than %d: %w", o.Bytes, 2*chunkSize, errno.EINVAL)
	}
	return &Buffer{o: o, by: reader.ValueOf(o.By), groups: map[string]*group{}}, nil
}

// Add adds a record, which was decoded with [reader.DecodeFull]. It calls show with those that are let through, in the order in which they
// were added, and decoded in the same way: each is valid until show returns. If show returns an error, Add returns it, and the other
// records of the group are dropped.
func (b *Buffer) Add(ev *reader.Event, show func(*reader.Event) error) error {
	if show == nil {
		return fmt.Errorf("tail: Add needs a function: %w", errno.EINVAL)
	}
	b.advance(timeOf(ev))
	match := b.o.When.Match(ev)
	v, ok := b.by(ev)
	if !ok {
		if match {
			b.stats.Shown++
			return show(ev)
		}
		b.stats.Without++
		return nil
	}
	b.key = v.AppendText(b.key[:0])
	if len(b.key) > maxKey {
		b.key = b.key[:maxKey]
	}
	b.reserve(len(ev.Raw)) // before there is a group, which this may drop
	g := b.groups[string(b.key)]
	switch {
	case match:
		if err := b.open(g, show); err != nil {
			return err
		}
		return b.pass(ev, show)
	case g != nil && g.marked && g.until >= b.now:
		return b.pass(ev, show)
	}
	b.hold(g, ev)
	return nil
}

func (b *Buffer) pass(ev *reader.Event, show func(*reader.Event) error) error {
	b.stats.Shown++
	return show(ev)
}

// Stats returns the counts.
func (b *Buffer) Stats() Stats {
	st := b.stats
	st.Bytes = b.bytes
	return st
}

func timeOf(ev *reader.Event) uint64 {
	if ev.Monotonic != 0 {
		return ev.Monotonic
	}
	return uint64(ev.Time.UnixNano())
}
