package component

import (
	"context"
	"errors"
	"fmt"
)

// Batch is one call of a metric exporter's Export: how far it came, and what its error is. It begins with
// [Component.Batch].
type Batch struct {
	component *Component
	ctx       context.Context
	written   int
	failed    int
	stopped   error // why the rest is not to be written
	err       error // of the first points that failed
}

// Batch begins a call of Export. A context that is nil is never done.
func (c *Component) Batch(ctx context.Context) Batch { return Batch{component: c, ctx: ctx} }

// Stopped reports whether the rest is not to be written: the context is done, now or when it was asked before.
func (b *Batch) Stopped() bool {
	if b.stopped == nil && b.ctx != nil {
		b.stopped = b.ctx.Err()
	}
	return b.stopped != nil
}

// Wrote counts points that the kernel took.
func (b *Batch) Wrote(points int) { b.written += points }

// Fail counts points that cannot be written.
func (b *Batch) Fail(points int, err error) {
	b.failed += points
	if b.err == nil {
		b.err = err
	}
}

// End returns the error of Export: shutdown if the component is closed; else that of the context if points were left
// out for it, and that of the first points that failed if its turn has come, see [report.Reporter].
func (b *Batch) End(shutdown error) error {
	c := b.component
	if c.Closed() {
		return shutdown
	}
	var errs []error
	if b.stopped != nil {
		errs = append(errs, c.Prefix(fmt.Errorf("stopped after %d points: %w", b.written, b.stopped)))
	}
	if b.err != nil {
		errs = append(errs, c.Report(fmt.Errorf("%d points were not written: %w", b.failed, b.err)))
	}
	return errors.Join(errs...)
}
