package reader

import (
	"errors"
	"fmt"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/tracepoint"
)

// ErrMalformed is wrapped by the errors about records that do not fit the format of their tracepoint.
var ErrMalformed = errors.New("malformed record")

// Decoder decodes the records of one tracepoint. It does not change and may be used concurrently, each time with another
// Event.
type Decoder struct {
	system, name string
	typed        *typed.Decoder
}

// NewDecoder returns a decoder of the records of a tracepoint, of user_events or of another system, that has this
// format. The error wraps [tracepoint.ErrInvalid]: no kernel writes such a format.
func NewDecoder(system string, f tracepoint.Format) (*Decoder, error) {
	t, err := typed.NewFormatDecoder(f, nil)
	if err != nil {
		return nil, fmt.Errorf("tracepoint %s:%s: %w", system, f.Name, err)
	}
	return &Decoder{system: system, name: f.Name, typed: t}, nil
}

// Decode decodes a record into ev: raw is all that the tracepoint recorded, common fields included. Bytes behind the
// record are ignored. Decode sets all fields of ev but those that say where and when the kernel took the record.
// It does not allocate for most records, once ev has been decoded into.
//
// ev refers to raw, as [Event] says. An error wraps [ErrMalformed]. ev then has the names of the tracepoint and is empty
// otherwise.
func (d *Decoder) Decode(raw []byte, ev *Event) error {
	ev.begin(d)
	if err := d.decodeTyped(raw, ev); err != nil {
		ev.begin(d)
		return fmt.Errorf("%w: tracepoint %s:%s: %w", ErrMalformed, d.system, d.name, err)
	}
	return nil
}
