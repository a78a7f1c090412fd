package uevents

import "github.com/userevents/userevents-go/internal/backend"

// Persistence says whether the kernel keeps an event after its last user is gone, as far as the
// kernel's answers tell. Linux 6.3 and earlier keep every event, and so does 6.4; automatic removal came with
// 6.5; programs can ask to keep an event from 6.7 on.
type Persistence uint8

const (
	// PersistenceUnknown says that the kernel does not tell. It has enable addresses (Linux 6.4 and later), and
	// the program did not ask to keep the event, or the kernel does not know the request (6.4 keeps the event, 6.5
	// and 6.6 remove it), or the event may have existed before and keeps what it was created with.
	PersistenceUnknown Persistence = iota

	// Temporary says that the kernel removes the event when its last user is gone. It knows the request (Linux 6.7 and later) and
	// refused it, as the program lacks CAP_PERFMON.
	Temporary

	// Persistent says that the kernel keeps the event until it is deleted or the machine restarts.
	Persistent
)

// String returns "unknown", "temporary" or "persistent".
func (p Persistence) String() string {
	switch p {
	case Temporary:
		return "temporary"
	case Persistent:
		return "persistent"
	}
	return "unknown"
}

// Persistence returns what is known about how long the kernel keeps the event.
func (e *Event) Persistence() Persistence { return e.persistence }

// persistence finds out what became of a request to keep the event.
func (p *Provider) persistence(e *Event, asked bool, a acceptance) Persistence {
	if p.abi != ABIEnableAddress {
		return Persistent
	}
	if !asked || a.existed || a.unknown {
		return PersistenceUnknown
	}
	// Listed now and not before: this registration created it. Not listed: the listing cannot be read.
	if _, listed := p.res.backend.Fields(e.decl.Name); !listed {
		return PersistenceUnknown
	}
	if a.flags&backend.FlagPersist != 0 {
		return Persistent
	}
	return Temporary
}
