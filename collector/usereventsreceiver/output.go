package usereventsreceiver

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/consumer"

	"github.com/userevents/userevents-go/reader/otlp"
)

// output delivers the data of one signal.
type output[T any] struct {
	signal  string
	take    func(*otlp.Converter) T
	count   func(T) int
	clone   func(T) T
	consume func(context.Context, T) error // nil if no pipeline of the signal has the receiver
	mutates bool                           // consume may change the data
	begin   func(context.Context) context.Context
	end     func(ctx context.Context, format string, n int, err error)
}

// format is the name of the data's origin in the Collector's own spans.
const format = "user_events"

var errNoPipeline = errors.New("no pipeline of the signal has the receiver")

// deliver delivers what the converter has. It returns how many records were not delivered, and why. If that is only a part
// of the data, parts is true.
func (o *output[T]) deliver(ctx context.Context, c *otlp.Converter, r *retry) (dropped int, parts bool, err error) {
	data := o.take(c)
	n := o.count(data)
	if n == 0 {
		return 0, false, nil
	}
	if o.consume == nil {
		return n, false, errNoPipeline
	}
	op := o.begin(ctx)
	err = r.do(func() error {
		if err := ctx.Err(); err != nil {
			return errors.Join(errRetryStopped, err)
		}
		err := o.attempt(op, data)
		// The consumer may have accepted a part. That of one of several says nothing of the others.
		if rest, ok := errors.AsType[partial[T]](err); ok && len(members(err)) == 1 {
			if left := o.count(rest.Data()); left > 0 && left < n {
				o.end(op, format, n-left, nil)
				op, n, parts = o.begin(ctx), left, true
			}
			data = rest.Data()
		}
		return err
	})
	o.end(op, format, n, err)
	if err == nil {
		return 0, false, nil
	}
	return n, parts, err
}

// partial is an error with the data that was not delivered.
type partial[T any] interface {
	error
	Data() T
}

// attempt delivers data once. It keeps the data unchanged for another attempt.
func (o *output[T]) attempt(ctx context.Context, data T) error {
	if o.mutates {
		data = o.clone(data)
	}
	return o.consume(ctx, data)
}

// setConsumer sets what all consumers have.
func (o *output[T]) setConsumer(next interface{ Capabilities() consumer.Capabilities }, consume func(context.Context, T) error) {
	o.consume, o.mutates = consume, next.Capabilities().MutatesData
}
