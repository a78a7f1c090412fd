package ueventstrace

import (
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
)

// identity is a [trace.SpanContext] without its state that is read in place: each method of that copies all of it.
type identity struct {
	traceID trace.TraceID
	spanID  trace.SpanID
	flags   trace.TraceFlags
	remote  bool
}

func identityOf(c trace.SpanContext) identity {
	return identity{c.TraceID(), c.SpanID(), c.TraceFlags(), c.IsRemote()}
}

func (i *identity) TraceID() trace.TraceID       { return i.traceID }
func (i *identity) SpanID() trace.SpanID         { return i.spanID }
func (i *identity) TraceFlags() trace.TraceFlags { return i.flags }
func (i *identity) IsRemote() bool               { return i.remote }

// IsValid reports whether both ids are set.
func (i *identity) IsValid() bool { return i.traceID.IsValid() && i.spanID.IsValid() }

// withState returns the identity in the form of package trace.
func (i *identity) withState(state trace.TraceState) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: i.traceID, SpanID: i.spanID, TraceFlags: i.flags, TraceState: state, Remote: i.remote,
	})
}

// setNewIDs sets the ids that are not set to random ones.
func (i *identity) setNewIDs() {
	if !i.traceID.IsValid() {
		binary.NativeEndian.PutUint64(i.traceID[:8], newID())
		binary.NativeEndian.PutUint64(i.traceID[8:], newID())
	}
	if !i.spanID.IsValid() {
		binary.NativeEndian.PutUint64(i.spanID[:], newID())
	}
}

// newID returns a random number other than 0.
func newID() uint64 {
	for {
		if n := rand.Uint64(); n != 0 {
			return n
		}
	}
}
