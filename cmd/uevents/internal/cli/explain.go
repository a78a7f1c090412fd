package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/uevents"
)

// explain prints for each selected event where the condition is evaluated.
func (e *env) explain(o *reader.Options) error {
	if o.Where == nil {
		return usageError{errors.New("--explain is about a condition: --where, --level, --kind or --program")}
	}
	list, err := e.selected(o)
	if err != nil {
		return err
	}
	table := output.Table{Header: []string{"EVENT", "TRANSPORT", "KERNEL", "UEVENTS"}}
	for _, ev := range list {
		d, err := reader.NewDecoder(ev.system, ev.format)
		if err != nil {
			return err
		}
		plan := o.Where.Plan(d, ev.textFilters)
		kernel, rest := cmp.Or(plan.Kernel, "-"), cmp.Or(strings.Join(plan.Reader, ", "), "-")
		switch {
		case plan.Never:
			kernel, rest = "no record can match", "not attached"
		case ev.transport() == uevents.TransportMemory:
			kernel, rest = "-", o.Where.String()
		}
		table.Add(shortName(ev.system+":"+ev.name), ev.transport().String(), text.Printable(kernel), text.Printable(rest))
	}
	fmt.Fprintf(e.out, "condition: %s\n", text.Printable(o.Where.String()))
	if len(list) == 0 {
		_, err := fmt.Fprintln(e.out, "no event matches (see uevents list)")
		return err
	}
	_, err = table.WriteTo(e.out)
	return err
}

// selected returns the events that are there and match the patterns of options: user events, and those of other systems that are spelled
// out.
func (e *env) selected(o *reader.Options) ([]event, error) {
	match, err := reader.Match(o.Events...)
	if err != nil {
		return nil, err
	}
	exclude, err := reader.Match(o.Excludes...)
	if err != nil {
		return nil, err
	}
	list, _, err := e.events(func(system, name string) bool { return match(system, name) && !exclude(system, name) })
	for _, pattern := range o.Events {
		if system, name, ok := strings.Cut(pattern, ":"); ok && !strings.HasPrefix(system, "user_events") && !strings.ContainsAny(name, "*?[") {
			found, findErr := e.find(pattern)
			if findErr != nil {
				return nil, findErr
			}
			list = append(list, found...)
		}
	}
	return slices.Clip(list), err
}
