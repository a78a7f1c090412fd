package profile

import (
	"encoding/hex"
	"maps"

	"github.com/google/pprof/profile"

	"github.com/userevents/userevents-go/reader"
)

// maxSpans limits the samples that name a trace or span. Beyond it, events count for their stacks alone.
const maxSpans = 1 << 14

// spanKey identifies the events of a span with one stack.
type spanKey struct {
	stack *profile.Sample
	trace [16]byte
	span  [8]byte
}

// ofSpan returns the sample of an event's span. It has the stack and the labels of another sample, which it returns if the event
// has no ids.
func (w *Writer) ofSpan(ev *reader.Event, stack *profile.Sample) *profile.Sample {
	key := spanKey{stack, ev.TraceID, ev.SpanID}
	if key == (spanKey{stack: stack}) || stack.Label == nil {
		return stack
	}
	if s := w.spans[key]; s != nil {
		return s
	}
	if len(w.spans) >= maxSpans || w.room <= 0 {
		w.unnamed++
		return stack
	}
	s := &profile.Sample{
		Location: stack.Location, Value: make([]int64, len(stack.Value)), Label: maps.Clone(stack.Label), NumLabel: stack.NumLabel,
	}
	if key.trace != [16]byte{} {
		s.Label["trace_id"] = []string{hex.EncodeToString(key.trace[:])}
	}
	if key.span != [8]byte{} {
		s.Label["span_id"] = []string{hex.EncodeToString(key.span[:])}
	}
	w.room -= 2 * sizeOfSample
	w.spans[key] = s
	w.profile.Sample = append(w.profile.Sample, s)
	return s
}
