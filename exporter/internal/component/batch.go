package component

import (
	"context"
	"errors"
	"fmt"
)

// Batch is the state of one call of an exporter's Export: its progress and its error. [Component.Batch] creates it.
type Batch struct {
	component *Component
	ctx       context.Context
	what      string
	written   int
	failed    int
	stopped   error // the error of the context after it is done
	err       error // of the first record that failed
}

// Batch begins a call of Export. A nil context is never done. Errors use what as the name of the records, such as
// spans.
func (c *Component) Batch(ctx context.Context, what string) Batch {
	return Batch{component: c, ctx: ctx, what: what}
}

// Stopped reports whether the context is done, or was in an earlier call. The exporter then writes no more records.
func (b *Batch) Stopped() bool {
	if b.stopped == nil && b.ctx != nil {
		b.stopped = b.ctx.Err()
	}
	return b.stopped != nil
}

// Wrote counts records that are complete.
func (b *Batch) Wrote(records int) { b.written += records }

// Fail counts records that cannot be written.
func (b *Batch) Fail(records int, err error) {
	b.failed += records
	if b.err == nil {
		b.err = err
	}
}

// End returns the error of Export: shutdown if the component is closed, else the context's error if it stopped the
// export, joined with the error of the first failed record if [report.Reporter] allows one.
func (b *Batch) End(shutdown error) error {
	c := b.component
	if c.Closed() {
		return shutdown
	}
	var errs []error
	if b.stopped != nil {
		errs = append(errs, c.Prefix(fmt.Errorf("stopped after %d %s: %w", b.written, b.what, b.stopped)))
	}
	if b.err != nil {
		errs = append(errs, c.Report(fmt.Errorf("%d %s were not written: %w", b.failed, b.what, b.err)))
	}
	return errors.Join(errs...)
}

// Export calls write for each of n records, until ctx is done or the component is closed. After a record that cannot be
// written, it continues with the others. Errors are those of [Batch.End].
func (c *Component) Export(ctx context.Context, n int, what string, shutdown error, write func(i int) error) error {
	b := c.Batch(ctx, what)
	if n == 0 {
		b.Stopped() // without records, the context may still be done
	}
	for i := 0; i < n && !c.Closed() && !b.Stopped(); i++ {
		if err := write(i); err != nil {
			b.Fail(1, err)
		} else {
			b.Wrote(1)
		}
	}
	return b.End(shutdown)
}
