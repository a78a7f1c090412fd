// Package typedfield writes the fields of typed events: one by one into a payload that a [Layout] begins, or from a struct, as the
// whole of a payload ([Plan]) or a part of one ([Fields]). Package typed has the public part, and says how values are represented.
//
// All functions append to a buffer of the caller's, which usually begins with the four bytes of a write index, and use the byte
// order of the machine, as the kernel demands. None allocates, except to grow the buffer.
package typedfield

import (
	"fmt"
	"slices"

	"github.com/userevents/userevents-go/tracepoint"
)

// Limits of payloads in bytes, without the write index.
const (
	DefaultLimit = tracepoint.MaxPayload          // what ftrace keeps
	MaxLimit     = 0xFFFF - tracepoint.CommonSize // of which all locations fit 16 bits
)

// Layout is a [tracepoint.Declaration] made ready for writing payloads: the
// offsets of its fields and a payload in which every field is zero or empty. It does not change and
// may be used concurrently.
type Layout struct {
	decl    tracepoint.Declaration
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
	l := &Layout{decl: d, fixed: d.FixedSize()}
	if l.fixed >= DefaultLimit {
		return nil, &tracepoint.Error{
			Declaration: d.String(), Field: -1,
			Problem: fmt.Sprintf("fixed part of %d bytes, and tracing tools keep less than %d: drop or shorten arrays", l.fixed, DefaultLimit),
		}
	}
	l.empty = make([]byte, l.fixed)
	at := 0
	for i, f := range d.Fields {
		l.offsets = append(l.offsets, at)
		switch {
		case f.Type.Location == tracepoint.RelLoc && IsText(f.Type):
			return nil, &tracepoint.Error{
				Declaration: d.String(), Field: i,
				Problem: "Perfetto does not read __rel_loc texts, and this package does not write them: declare it as __data_loc",
			}
		case f.Type.Location == tracepoint.DataLoc && IsText(f.Type):
			putNoText(l.empty, 0, at)
		case f.Type.Location == tracepoint.DataLoc:
			putDataLoc(l.empty, at, l.fixed, 0)
		}
		at += f.Type.FixedSize()
	}
	return l, nil
}

// IsText reports whether consumers print an array of the type as text.
func IsText(t tracepoint.Type) bool {
	return (t.Kind == tracepoint.Char || t.Kind == tracepoint.UChar) && (t.Len > 0 || t.Location != tracepoint.Fixed)
}

// Declaration returns the event's name and fields. Do not change the fields.
func (l *Layout) Declaration() tracepoint.Declaration { return l.decl }

// Offsets returns where each field begins, in bytes from the start of the payload, in the order of
// the declaration's fields.
func (l *Layout) Offsets() []int { return slices.Clone(l.offsets) }

// FixedSize returns the size in bytes of the fixed part, the least that the kernel accepts as a payload, and
// of the payload that [Layout.Begin] appends.
func (l *Layout) FixedSize() int { return l.fixed }

// Begin appends a payload in which every number is zero and every text and
// array is empty. It is complete as it is. The Put and Append functions fill in fields; their
// argument at is len(dst), as it was before Begin, plus the field's offset.
func (l *Layout) Begin(dst []byte) []byte { return append(dst, l.empty...) }
