// Package eventset is the life of an adapter's events: it opens the provider, registers the events under the adapter's
// name, counts what becomes of their records, and closes them. The adapters for log/slog and OpenTelemetry are
// mappings over it and package payload.
package eventset

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/adapter/payload"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// Options are what every adapter can be told.
type Options struct {
	Provider   *uevents.Provider // borrowed; nil opens one, which Close closes
	MaxPayload int               // the limit of a record in bytes; 0 is that of the provider
}

// Set is the events of one adapter. Register all events before records are written; the other methods may be called
// concurrently.
type Set struct {
	// All has all events.
	All *uevents.Group
	// Limit is the largest payload in bytes.
	Limit int

	component string
	name      string
	provider  *uevents.Provider
	owned     bool
	events    []*Event
	closed    atomic.Bool

	unnamed bool    // the name is no beginning of an event's name
	invalid []error // arguments of the program
	refused []error // by the kernel
}

// Open opens the set of the events whose names begin with name, for an adapter called component. The set is never
// nil; [Set.Err] has the errors.
func Open(component, name string, o Options) *Set {
	s := &Set{component: component, name: name, provider: o.Provider}
	if o.MaxPayload < 0 {
		s.Invalid(fmt.Errorf("MaxPayload of %d bytes is negative", o.MaxPayload))
		o.MaxPayload = 0
	}
	if s.provider == nil {
		s.provider, _ = uevents.Open(&uevents.Options{MaxPayload: o.MaxPayload}) // the error stays with the provider
		s.owned = true
	}
	s.Limit = min(s.provider.MaxPayload(), typed.MaxLimit)
	if o.MaxPayload > 0 {
		s.Limit = min(s.Limit, o.MaxPayload)
	}
	s.All = s.provider.NewGroup()
	if err := checkName(name); err != nil {
		s.Invalid(err)
		s.unnamed = true
	}
	return s
}

// checkName returns an error if no event's name begins with name.
func checkName(name string) error {
	problem := ""
	switch valid := typed.FieldName(name); {
	case name == "":
		problem = "the name is empty: give the program's name"
	case len(name) > typed.MaxFieldName:
		problem = fmt.Sprintf("the name has %d bytes: at most %d are possible", len(name), typed.MaxFieldName)
	case valid != name:
		problem = fmt.Sprintf("the name may have ASCII letters, digits and underscores: use %q", valid)
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", tracepoint.ErrInvalid, problem)
}

// Name returns the name of an event: the set's name, an underscore and the suffix.
func (s *Set) Name(suffix string) string { return s.name + "_" + suffix }

// NewSchema returns the schema of the event with this suffix. The error is about the suffix or the fields: that about the
// name of the set is one of [Set.Err].
func (s *Set) NewSchema(suffix string, fields []payload.Field) (*payload.Schema, error) {
	name := s.Name(suffix)
	if s.unnamed {
		name = "NAME_" + suffix
	}
	return payload.NewSchema(name, fields)
}

// NewGroup returns another group of events of the set.
func (s *Set) NewGroup() *uevents.Group { return s.provider.NewGroup() }

// Naming returns the policy for the names of declared records' events. An unknown one is an error of the set, and means the
// default.
func (s *Set) Naming(asked uevents.Naming) uevents.Naming {
	if asked > uevents.NameHashedOnConflict {
		s.Invalid(fmt.Errorf("unknown Naming %d: use one of the policies of package uevents", asked))
		asked = uevents.NameDefault
	}
	return cmp.Or(asked, uevents.NameHashedOnConflict)
}

// Invalid adds an error about an argument of the program. That of [Set.Err] then wraps [fs.ErrInvalid].
func (s *Set) Invalid(err error) { s.invalid = append(s.invalid, err) }

// Register registers an event with the schema of its payloads. The event joins [Set.All] and the groups. It is never nil; with
// an error, which [Set.Err] repeats, it is never enabled.
func (s *Set) Register(name string, schema *payload.Schema, naming uevents.Naming, groups ...*uevents.Group) (*Event, error) {
	return s.register(schema.Declaration(name), schema.CheckLimit(s.Limit), naming, groups)
}

// RegisterDeclaration is Register for an event whose payloads have another encoding. The error, if there is one, says
// why the limit is too small.
func (s *Set) RegisterDeclaration(d tracepoint.Declaration, limit error, groups ...*uevents.Group) (*Event, error) {
	return s.register(d, limit, uevents.NameExact, groups)
}

func (s *Set) register(d tracepoint.Declaration, invalid error, naming uevents.Naming, groups []*uevents.Group) (*Event, error) {
	if invalid == nil {
		invalid = d.Validate()
	}
	taken := false
	if invalid == nil {
		for _, e := range s.events {
			if e.Name() == d.Name {
				invalid = fmt.Errorf("%w: there are two events called %s: give one of them another name", tracepoint.ErrInvalid, d.Name)
				taken = true
			}
		}
	}
	name := d.Name
	if invalid != nil || s.unnamed {
		d.Fields = []tracepoint.Field{{}} // which the provider refuses: the event is never enabled
	}
	event, err := s.provider.Register(d, &uevents.EventOptions{Naming: naming, Groups: append([]*uevents.Group{s.All}, groups...)})
	e := &Event{Event: event}
	if !taken { // the counts are those of the first
		s.events = append(s.events, e)
	}
	switch {
	case s.unnamed:
	case invalid != nil:
		err = fmt.Errorf("event %s: %w", name, invalid)
		if !slices.ContainsFunc(s.invalid, func(other error) bool { return strings.HasSuffix(other.Error(), invalid.Error()) }) {
			s.Invalid(err) // once: a limit that is too small is so for several events
		}
	case err != nil:
		s.refused = append(s.refused, err)
	}
	return e, err
}

// Err returns what is wrong: with the program's arguments, if anything is, on every machine; or else why the kernel
// does not take events.
func (s *Set) Err() error {
	err := s.provider.Err() // which the errors of its events repeat
	switch {
	case len(s.invalid) > 0:
		err = &invalidError{errors.Join(s.invalid...)}
	case err == nil:
		err = errors.Join(s.refused...)
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", s.component, s.name, err)
}

// invalidError is an error about arguments of the program, which say themselves what is wrong with them.
type invalidError struct{ error }

// Unwrap returns the errors, and the one that they have in common.
func (e *invalidError) Unwrap() []error { return []error{e.error, fs.ErrInvalid} }

// Closed reports whether the set is closed.
func (s *Set) Closed() bool { return s.closed.Load() }

// Close unregisters the events, and closes the provider if the set opened it. Records that are being written reach
// nothing afterwards. Close does not wait, and may be called more than once.
func (s *Set) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	var errs []error
	for _, e := range s.events {
		errs = append(errs, e.Close())
	}
	if s.owned {
		errs = append(errs, s.provider.Close())
	}
	return errors.Join(errs...)
}
