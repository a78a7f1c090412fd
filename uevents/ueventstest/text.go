package ueventstest

import (
	"fmt"
	"strings"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
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

// formatHeader has the common fields of every entry.
const formatHeader = `name: %s
ID: %d
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

`

// Format returns the text of a tracepoint's format file, with an empty print format. The error wraps ENOENT if there is no
// such event. The kernel prints the brackets of an array behind the field's name, without a length: user_events never
// sets it.
func (k *Kernel) Format(name string) (string, error) {
	k.events.Lock()
	defer k.events.Unlock()
	e := k.events.Find(name)
	if e == nil {
		return "", fmt.Errorf("ueventstest: format of event %q: %w", name, errno.ENOENT)
	}
	var b strings.Builder
	fmt.Fprintf(&b, formatHeader, name, e.State.id)
	offset := tracepoint.CommonSize
	for _, f := range e.Decl.Fields {
		typ := f.Type.String()
		spelling := typ + " " + f.Name
		if elem, _, isArray := strings.Cut(typ, "["); isArray && f.Type.Location != tracepoint.DataLoc {
			spelling = elem + " " + f.Name + "[]"
		}
		signed := 1
		if typ[0] == 'u' {
			signed = 0
		}
		fmt.Fprintf(&b, "\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n", spelling, offset, f.Type.FixedSize(), signed)
		offset += f.Type.FixedSize()
	}
	b.WriteString("\nprint fmt: \"\"\n")
	return b.String(), nil
}
