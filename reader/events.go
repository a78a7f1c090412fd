package reader

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
)

// Events returns the records that Next returns, each in an Event of its own, which the caller may keep; with
// [DecodeOptions].Reuse all are in one Event. It ends when ctx is done, after Stop when all is read, and after Close. Any other
// error, such as [os.ErrDeadlineExceeded], is the last element.
//
// [Reader.Next] is for callers that act when no record is ready, at a deadline, or that choose the Event to decode into.
func (r *Reader) Events(ctx context.Context) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		interrupted := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			r.interrupt(true)
			close(interrupted)
		})
		defer func() {
			if !stop() {
				<-interrupted
				r.interrupt(false)
			}
		}()
		for ev := new(Event); ctx.Err() == nil; {
			switch err := r.Next(ev); {
			case err == nil:
				if !yield(ev, nil) {
					return
				}
				if !r.o.Decode.Reuse {
					ev = new(Event)
				}
			case ctx.Err() != nil, errors.Is(err, io.EOF), errors.Is(err, os.ErrClosed):
				return
			default:
				yield(nil, err)
				return
			}
		}
	}
}

// interrupt makes Next return at once, also if it waits, or as usual again.
func (r *Reader) interrupt(now bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.interrupted.Store(now)
	r.setDeadline()
}
