package eventheader

import (
	"errors"
	"fmt"
)

var (
	// ErrInvalid is wrapped by errors about what a caller asked for: a name, a
	// type, a level. It is a mistake in the program, never a property of the data that is logged.
	ErrInvalid = errors.New("invalid EventHeader event")

	// ErrTooLarge is wrapped by the error of an event that does not fit the
	// payload limit even after all its values were cut.
	ErrTooLarge = errors.New("EventHeader event does not fit the payload limit")

	// ErrMalformed is wrapped by every error of the decoder.
	ErrMalformed = errors.New("malformed EventHeader event")
)

// DecodeError says what is wrong with the bytes or the tracepoint name of an
// event that was to be decoded.
type DecodeError struct {
	Part    string // "name", "header", "metadata" or "data"
	Offset  int    // in bytes from the start of the part
	Problem string
}

// Error implements error.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("%v: %s, byte %d: %s", ErrMalformed, e.Part, e.Offset, e.Problem)
}

// Unwrap returns [ErrMalformed].
func (e *DecodeError) Unwrap() error { return ErrMalformed }

var errNoBegin = invalidf("End without Begin")

func invalidf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}
