// Package profile writes the stacks of events as a profile for go tool pprof, such as the call sites of errors or of
// slow requests. Its samples have the labels event, process and pid, and trace_id and span_id for the first 16,384 spans, each with a
// stack: go tool pprof -tags shows them, and -tagfocus selects by them.
package profile

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/record"
)

// Writer builds a profile of events with stacks. It implements output.Writer. It must not be used concurrently.
type Writer struct {
	symbols *symbols.Table
	weight  string
	out     io.Writer
	profile profile.Profile

	samples   map[string]*profile.Sample
	spans     map[spanKey]*profile.Sample
	functions map[function]*profile.Function
	locations map[location]*profile.Location
	mappings  map[string]*profile.Mapping

	first, last time.Time
	weighed     uint64 // number of events with the field
	unnamed     uint64 // number of events whose span has no sample of its own
	lost        map[string]uint64
	closed      bool

	key  []byte
	room int // bytes that stacks may still take
}

type function struct{ name, file string }

type location struct {
	function *profile.Function
	object   string
	line     int
}

// Limits of the distinct stacks. Further stacks share one sample.
const (
	maxSamples = 1 << 17
	maxMemory  = 512 << 20 // bytes, about: stacks can be deep, and names long
)

// NewWriter returns a Writer whose Close writes the profile to out. The table names the functions on the stacks. weight is the field whose
// numbers are summed for each stack, such as duration_ns; empty means that events are only counted.
func NewWriter(out io.Writer, table *symbols.Table, weight string) *Writer {
	w := &Writer{
		symbols: table, weight: weight, out: out, room: maxMemory,
		samples: map[string]*profile.Sample{}, spans: map[spanKey]*profile.Sample{}, functions: map[function]*profile.Function{},
		locations: map[location]*profile.Location{}, mappings: map[string]*profile.Mapping{}, lost: map[string]uint64{},
	}
	count := &profile.ValueType{Type: "events", Unit: "count"}
	w.profile.SampleType, w.profile.PeriodType, w.profile.Period = []*profile.ValueType{count}, count, 1
	if weight != "" {
		w.profile.SampleType = append(w.profile.SampleType, &profile.ValueType{Type: weight, Unit: unitOf(weight)})
		w.profile.DefaultSampleType = weight
	}
	return w
}

// unitOf returns pprof's name of the unit in the suffix of a field's name.
func unitOf(name string) string {
	for suffix, unit := range map[string]string{
		"_ns": "nanoseconds", "_us": "microseconds", "_ms": "milliseconds", "_bytes": "bytes", "_size": "bytes",
	} {
		if strings.HasSuffix(name, suffix) {
			return unit
		}
	}
	return "count"
}

// Write adds an event to its stack, and to its trace and span.
func (w *Writer) Write(ev *record.Record) error {
	w.span(ev.Time)
	s := w.ofSpan(ev, w.sample(ev))
	s.Value[0]++
	if w.weight != "" {
		if n, ok := number(ev, w.weight); ok {
			s.Value[1] = add(s.Value[1], n)
			w.weighed++
		}
	}
	return nil
}

// span notes the time of an event. Those of several processors are not in order.
func (w *Writer) span(at time.Time) {
	if at.IsZero() {
		return
	}
	if w.first.IsZero() || at.Before(w.first) {
		w.first = at
	}
	if at.After(w.last) {
		w.last = at
	}
}

// sample returns the sample of an event's stack, tracepoint and process.
func (w *Writer) sample(ev *record.Record) *profile.Sample {
	// The same addresses may be other functions in another process, or in a later one with the same id.
	comm := ""
	if ev.Process != nil {
		comm = ev.Process.Comm
	}
	w.key = binary.NativeEndian.AppendUint32(w.key[:0], uint32(ev.PID))
	for _, addr := range ev.Callchain {
		w.key = binary.NativeEndian.AppendUint64(w.key, addr)
	}
	w.key = append(append(append(append(w.key, ev.System...), ':'), ev.Name...), 0)
	w.key = append(w.key, comm...)
	if s := w.samples[string(w.key)]; s != nil {
		return s
	}
	full := len(w.samples) >= maxSamples || w.room <= 0
	if full {
		w.key = append(w.key[:0], "other"...)
		if s := w.samples[string(w.key)]; s != nil {
			return s
		}
	}
	s := &profile.Sample{Value: make([]int64, len(w.profile.SampleType))}
	switch {
	case full:
		s.Location = []*profile.Location{w.location(&symbols.Frame{Func: "[other stacks]"})}
	default:
		s.Location = w.stack(ev)
		s.Label = map[string][]string{"event": {text.Printable(ev.System + ":" + ev.Name)}}
		s.NumLabel = map[string][]int64{"pid": {int64(ev.PID)}}
		if comm != "" {
			s.Label["process"] = []string{text.Printable(comm)}
		}
	}
	w.room -= sizeOfSample + len(w.key) + sizeOfFrame*len(s.Location)
	w.samples[string(w.key)] = s
	w.profile.Sample = append(w.profile.Sample, s)
	return s
}

// Bytes of memory, about, without texts.
const (
	sizeOfSample = 512
	sizeOfFrame  = 16 // in a sample
	sizeOfPlace  = 256
)

func (w *Writer) stack(ev *record.Record) (stack []*profile.Location) {
	if len(w.profile.Mapping) == 0 && ev.Process != nil {
		w.mapping(ev.Process.Exe) // pprof takes the first one for the program, and names the profile after it
	}
	frames := w.symbols.Stack(ev)
	if len(frames) == 0 {
		frames = []symbols.Frame{{Func: "[no stack]"}}
	}
	for i := range frames {
		stack = append(stack, w.location(&frames[i]))
	}
	return stack
}

// location returns the location of a frame. Inlined calls have their own locations, so that those of the library can be
// omitted.
func (w *Writer) location(f *symbols.Frame) *profile.Location {
	name := text.Printable(f.Func)
	if name == "" {
		name = fmt.Sprintf("%#x", f.Addr)
		if f.Object != "" {
			name += " (" + text.Printable(f.Object) + ")"
		}
	}
	fn := w.functions[function{name, f.File}]
	if fn == nil {
		fn = &profile.Function{ID: uint64(len(w.functions) + 1), Name: name, SystemName: name, Filename: text.Printable(f.File)}
		w.functions[function{name, f.File}] = fn
		w.room -= sizeOfPlace + len(f.Func) + len(name) + len(f.File) + len(fn.Filename)
		w.profile.Function = append(w.profile.Function, fn)
	}
	key := location{fn, f.Object, f.Line}
	l := w.locations[key]
	if l == nil {
		l = &profile.Location{
			ID: uint64(len(w.locations) + 1), Mapping: w.mapping(f.Object), Address: f.Addr,
			Line: []profile.Line{{Function: fn, Line: int64(f.Line)}},
		}
		w.locations[key] = l
		w.room -= sizeOfPlace
		w.profile.Location = append(w.profile.Location, l)
	}
	return l
}

// mapping returns the program or library of a frame, or nil if there is none.
func (w *Writer) mapping(object string) *profile.Mapping {
	m := w.mappings[object]
	if m == nil && object != "" {
		m = &profile.Mapping{
			ID: uint64(len(w.mappings) + 1), File: text.Printable(object), Limit: ^uint64(0),
			// pprof does not need to look up symbols.
			HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
		}
		w.mappings[object] = m
		w.room -= sizeOfPlace + len(object) + len(m.File)
		w.profile.Mapping = append(w.profile.Mapping, m)
	}
	return m
}

// Lost counts records that the kernel lost. The profile has the count in a comment.
func (w *Writer) Lost(name string, n uint64, _ time.Time) error {
	w.lost[name] += n
	return nil
}

// Close writes the profile. It returns an error if no event had the field of NewWriter.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	if w.weight != "" && w.weighed == 0 && len(w.samples) > 0 {
		return fmt.Errorf("profile: no event has the field %q with a number in it: see the fields with `uevents show`", w.weight)
	}
	if !w.first.IsZero() {
		w.profile.TimeNanos, w.profile.DurationNanos = w.first.UnixNano(), int64(w.last.Sub(w.first))
	}
	// All events of a stack may be those of spans.
	w.profile.Sample = slices.DeleteFunc(w.profile.Sample, func(s *profile.Sample) bool { return s.Value[0] == 0 })
	if w.unnamed > 0 {
		w.profile.Comments = append(w.profile.Comments, fmt.Sprintf("%d records have no trace_id and span_id: these are of %d spans at most", w.unnamed, maxSpans))
	}
	for _, name := range slices.Sorted(maps.Keys(w.lost)) {
		w.profile.Comments = append(w.profile.Comments, fmt.Sprintf("%d records of %s were lost", w.lost[name], text.Printable(name)))
	}
	if err := w.profile.Write(w.out); err != nil {
		return fmt.Errorf("writing the profile: %w", err)
	}
	return nil
}

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
func (w *Writer) ofSpan(ev *record.Record, stack *profile.Sample) *profile.Sample {
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

// number returns the number in a field, rounded towards zero. One that no int64 has becomes the nearest one.
func number(ev *record.Record, name string) (n int64, ok bool) {
	if name == "duration_ns" && (ev.Kind == record.KindSpan || ev.Duration != 0) {
		// The decoder took the field. No span lasts less than no time: the clock was set, or the number is none of a duration.
		return int64(max(ev.Duration, time.Duration(0))), true
	}
	v, ok := ev.Lookup(name)
	if !ok {
		return 0, false
	}
	switch v.Type() {
	case record.TypeInt64:
		return v.Int64(), true
	case record.TypeUint64:
		return int64(min(v.Uint64(), math.MaxInt64)), true
	case record.TypeFloat64:
		return truncated(v.Float64())
	}
	return 0, false
}

// truncated reports with false that a number is NaN.
func truncated(f float64) (n int64, ok bool) {
	switch {
	case f >= 1<<63:
		return math.MaxInt64, true
	case f < -1<<63:
		return math.MinInt64, true
	}
	return int64(f), !math.IsNaN(f)
}

// add returns a sum. One that no int64 has becomes the nearest one.
func add(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}
