package uevents

import (
	"fmt"
	"hash/fnv"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
)

// Naming is the policy for the name that an event is registered with. All programs of a machine share one namespace
// of events, containers included, and an event stays while a tracing tool is attached to it, even after its program
// has ended. So a new version of a program whose event has other fields may find the name taken.
//
// Without a tool the kernel (Linux 6.5 and later) removes the event tens of milliseconds after its last program has
// ended or closed the provider. Register waits for that in steps of 5 ms, 200 ms in all for each provider.
type Naming uint8

const (
	// NameDefault is the default of the function that takes the option: [NameExact] for [Provider.Register],
	// [NameHashedOnConflict] for struct events and declared records.
	NameDefault Naming = iota

	// NameExact registers the name of the declaration. If it is taken by an event with other fields, Register fails
	// with [ErrConflict].
	NameExact

	// NameHashedOnConflict registers the name of the declaration, and if it is taken by an event with other fields,
	// the name with a hash of the fields behind it, such as "myapp_request_1a2b3c4d". The same fields have the same hash
	// on every machine. [Event.Conflict] says which of the two happened. Tools that attach with the wildcard
	// "myapp_request*" see both.
	NameHashedOnConflict
)

// String returns the name of the policy.
func (n Naming) String() string {
	names := [...]string{"default", "exact", "hashed on conflict"}
	if int(n) >= len(names) {
		return fmt.Sprintf("Naming(%d)", uint8(n))
	}
	return names[n]
}

// check reports what is wrong with any declaration that the policy may lead to, before the kernel is asked.
func (n Naming) check(d tracepoint.Declaration) error {
	if err := d.Validate(); err != nil {
		return err
	}
	switch n {
	case NameDefault, NameExact:
		return nil
	case NameHashedOnConflict:
		if err := hashed(d).Validate(); err != nil {
			return fmt.Errorf("with the hash that the naming policy adds: %w", err)
		}
		return nil
	}
	return fmt.Errorf("unknown naming policy %v: %w", n, errno.EINVAL)
}

// hashed returns the declaration with a hash of its fields in the name. The hash is FNV-1a
// of 32 bits over the fields in command syntax, in hexadecimal: the same fields have the
// same name in every program, on every machine and in every release of this package.
func hashed(d tracepoint.Declaration) tracepoint.Declaration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(d.FieldList())) // never fails
	d.Name = fmt.Sprintf("%s_%08x", d.Name, h.Sum32())
	return d
}

// Conflict returns nil if the event has the name of its declaration, and otherwise the reason why it has a hashed one: a
// notice for the program's log, since the event works. It wraps [ErrConflict] and shows the fields of the other
// event where they can be read.
func (e *Event) Conflict() error { return e.conflict }
