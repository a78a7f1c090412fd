package ueventstest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
)

// Kind is a kind of tracing tool.
type Kind uint8

const (
	// Ftrace is what trace-cmd and the files of tracefs use. It keeps payloads of up to
	// [tracepoint.MaxPayload] bytes. When its buffer is full, the oldest records are lost.
	Ftrace Kind = iota
	// Perf is what perf record uses. It keeps payloads of up to 8,184 bytes.
	// When its buffer is full, the newest records are lost.
	Perf
)

// String returns "ftrace" or "perf".
func (kind Kind) String() string {
	if kind == Perf {
		return "perf"
	}
	return "ftrace"
}

func (kind Kind) maxPayload() int {
	if kind == Perf {
		return perfMaxPayload
	}
	return tracepoint.MaxPayload
}

// probe is a tracing tool's place at an event.
type probe struct {
	tool *Tool
	slot uint32
}

// Attach attaches a tracing tool to events, which become enabled. Each name is a tracepoint's, such as "myapp_info",
// or has its system before it, as in "user_events:myapp_info". The patterns of [path.Match] are allowed. Events that
// are registered later are not attached, even if a pattern matches.
//
// If a name matches no event, nothing is attached and the error wraps ENOENT. On a closed
// kernel it wraps ENODEV, and for a malformed pattern [path.ErrBadPattern]. Detach the
// tool, or let [Kernel.Close] do it.
func (k *Kernel) Attach(kind Kind, names ...string) (*Tool, error) {
	k.events.Lock()
	defer k.events.Unlock()
	if k.closed {
		return nil, fmt.Errorf("ueventstest: attaching %s to a closed kernel: %w", kind, errno.ENODEV)
	}
	t := &Tool{k: k, kind: kind}
	for _, name := range names {
		matches, err := k.matching(name)
		if err != nil {
			return nil, fmt.Errorf("ueventstest: attaching %s to event %q: %w", kind, name, err)
		}
		for _, e := range matches {
			if !slices.Contains(t.events, e) {
				t.events = append(t.events, e)
			}
		}
	}
	t.ring.buf = make([]byte, k.bufferSize)
	k.tools[t] = struct{}{}
	for i, e := range t.events {
		e.State.setProbes(append(slices.Clip(e.State.attached()), probe{t, uint32(i)}))
		k.update(e)
	}
	return t, nil
}

// matching returns the events whose names a pattern matches.
func (k *Kernel) matching(name string) (found []*event, err error) {
	name = strings.TrimPrefix(name, tracepoint.System+":")
	for _, e := range k.events.Events() {
		match, err := path.Match(name, e.Decl.Name)
		if err != nil {
			return nil, err
		}
		if match {
			found = append(found, e)
		}
	}
	if found == nil {
		return nil, errno.ENOENT
	}
	return found, nil
}

// Detach detaches the tool from all its events. When it returns, nothing more is
// recorded; what was recorded can still be read. A second Detach does nothing.
func (t *Tool) Detach() {
	t.k.events.Lock()
	defer t.k.events.Unlock()
	t.k.detach(t)
}

// detach is called with the registry's lock held.
func (k *Kernel) detach(t *Tool) {
	if _, attached := k.tools[t]; !attached {
		return
	}
	delete(k.tools, t)
	for _, e := range t.events {
		rest := slices.Clone(e.State.attached())
		e.State.setProbes(slices.DeleteFunc(rest, func(p probe) bool { return p.tool == t }))
		k.update(e)
		k.events.Release(e)
	}
	k.recording.Lock()
	t.detached = true
	t.signal()
	k.recording.Unlock()
}
