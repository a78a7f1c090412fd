package typed

import (
	"fmt"
	"slices"

	"github.com/userevents/userevents-go/tracepoint"
)

// Limits of payloads in bytes, without the write index.
const (
	// DefaultLimit is what ftrace keeps with the usual 4 KiB pages and
	// sub-buffers. A longer payload is thrown away, although its write succeeds.
	DefaultLimit = 4064
	// MaxLimit is the longest payload whose locations are sure to fit 16 bits.
	MaxLimit = 0xFFFF - tracepoint.CommonSize
)

// Layout is a [tracepoint.Declaration] made ready for writing payloads: the
// offsets of its fields and a payload in which every field is zero or empty. It does not change and
// may be used concurrently.
type Layout struct {
	decl    tracepoint.Declaration
	command string
	offsets []int
	fixed   int
	empty   []byte
}

// NewLayout returns the layout of an event. The error is what
// [tracepoint.Declaration.Validate] says, or tells that no payload of the event would fit into
// [DefaultLimit]; it wraps [tracepoint.ErrInvalid]. The layout keeps d.Fields.
func NewLayout(d tracepoint.Declaration) (*Layout, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	l := &Layout{decl: d, command: d.String(), fixed: d.FixedSize()}
	if l.fixed >= DefaultLimit {
		return nil, &tracepoint.Error{
			Declaration: l.command, Field: -1,
			Problem: fmt.Sprintf("fixed part of %d bytes, and tracers keep less than %d: drop or shorten arrays", l.fixed, DefaultLimit),
		}
	}
	l.empty = make([]byte, l.fixed, l.fixed+1)
	at := 0
	for _, f := range d.Fields {
		l.offsets = append(l.offsets, at)
		at += f.Type.FixedSize()
	}
	// Consumers read text up to a NUL, whatever its size says. All empty texts share one NUL.
	if slices.ContainsFunc(d.Fields, func(f tracepoint.Field) bool { return isDynamicText(f.Type) }) {
		l.empty = append(l.empty, 0)
	}
	for i, f := range d.Fields {
		size := 0
		if isDynamicText(f.Type) {
			size = 1
		}
		switch f.Type.Location {
		case tracepoint.RelLoc:
			putRelLoc(l.empty, l.offsets[i], l.fixed, size)
		case tracepoint.DataLoc:
			putLoc(l.empty, l.offsets[i], l.fixed+tracepoint.CommonSize, size)
		}
	}
	return l, nil
}

// isDynamicText reports whether the kernel demands a NUL at the end of the field.
func isDynamicText(t tracepoint.Type) bool {
	return t.Location != tracepoint.Fixed && isText(t)
}

// isText reports whether consumers print an array of the type as text.
func isText(t tracepoint.Type) bool {
	return (t.Kind == tracepoint.Char || t.Kind == tracepoint.UChar) && (t.Len > 0 || t.Location != tracepoint.Fixed)
}

// Declaration returns the event's name and fields. Do not change the fields.
func (l *Layout) Declaration() tracepoint.Declaration { return l.decl }

// Command returns the declaration in the syntax in which the kernel takes it,
// without a terminating NUL: at most 511 bytes.
func (l *Layout) Command() string { return l.command }

// Offsets returns where each field begins, in bytes from the start of the payload, in the order of
// the declaration's fields.
func (l *Layout) Offsets() []int { return slices.Clone(l.offsets) }

// FixedSize returns the size in bytes of the fixed part, the least that the kernel accepts as a payload.
func (l *Layout) FixedSize() int { return l.fixed }

// EmptySize returns the length in bytes of the payload that [Layout.Begin]
// appends: the fixed part, and one more byte if there are dynamic texts.
func (l *Layout) EmptySize() int { return len(l.empty) }

// Begin appends a payload in which every number is zero and every text and
// array is empty. It is complete as it is. The Put and Append functions fill in fields; their
// argument at is len(dst), as it was before Begin, plus the field's offset.
func (l *Layout) Begin(dst []byte) []byte { return append(dst, l.empty...) }
