package ueventstrace

import (
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
)

// identity is a [trace.SpanContext] without its state that is small: each method of that copies all of it.
type identity struct {
	traceID trace.TraceID
	spanID  trace.SpanID
	flags   trace.TraceFlags
	remote  bool
}

func identityOf(c trace.SpanContext) identity {
	return identity{c.TraceID(), c.SpanID(), c.TraceFlags(), c.IsRemote()}
}

// withState returns the identity in the form of package trace.
func (i *identity) withState(state trace.TraceState) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: i.traceID, SpanID: i.spanID, TraceFlags: i.flags, TraceState: state, Remote: i.remote,
	})
}

// setNewIDs sets the ids that are not set to random ones.
func (i *identity) setNewIDs() {
	if !i.traceID.IsValid() {
		i.traceID = newTraceID()
	}
	if !i.spanID.IsValid() {
		binary.NativeEndian.PutUint64(i.spanID[:], newID())
	}
}

func newTraceID() (id trace.TraceID) {
	binary.NativeEndian.PutUint64(id[:8], newID())
	binary.NativeEndian.PutUint64(id[8:], newID())
	return id
}

// newID returns a random number other than 0.
func newID() uint64 {
	for {
		if n := rand.Uint64(); n != 0 {
			return n
		}
	}
}
