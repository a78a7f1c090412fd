package ueventstest

import (
	"fmt"
	"strings"

	"github.com/userevents/userevents-go/internal/errno"
)

// Status returns the text of user_events_status, as this generation of the interface prints
// it. A real kernel lists events in no particular order, this one in the order of their
// registration.
func (k *Kernel) Status() string {
	k.events.Lock()
	defer k.events.Unlock()
	var b strings.Builder
	busy := 0
	for _, e := range k.events.Events() {
		if k.page != nil {
			fmt.Fprintf(&b, "%d:", e.State.slot)
		}
		used := e.State.usedBy()
		if used != "" {
			busy++
		}
		b.WriteString(e.Decl.Name + used + "\n")
	}
	fmt.Fprintf(&b, "\nActive: %d\nBusy: %d\n", k.events.Len(), busy)
	if k.page != nil {
		fmt.Fprintf(&b, "Max: %d\n", k.page.max())
	}
	return b.String()
}

// Format returns the text of a tracepoint's format file. The error wraps ENOENT if there is no such event.
func (k *Kernel) Format(name string) (string, error) {
	k.events.Lock()
	defer k.events.Unlock()
	e := k.events.Find(name)
	if e == nil {
		return "", fmt.Errorf("ueventstest: format of event %q: %w", name, errno.ENOENT)
	}
	f := e.Decl.Format()
	f.ID = e.State.id
	return f.String(), nil
}
