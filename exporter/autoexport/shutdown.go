package autoexport

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// shutdownOnce returns a function that calls others once, the last one first. Further calls wait for the error as long as their own
// context says, whatever that of the first call says: an exporter may hang.
func shutdownOnce(all []func(context.Context) error) func(context.Context) error {
	var begun atomic.Bool
	var err error
	ended := make(chan struct{})
	return func(ctx context.Context) error {
		if ctx == nil {
			ctx = context.Background()
		}
		if begun.CompareAndSwap(false, true) {
			defer close(ended)
			for _, shutdown := range slices.Backward(all) {
				err = errors.Join(err, shutdown(ctx))
			}
			return err
		}
		select {
		case <-ended:
			return err
		default:
		}
		select {
		case <-ended:
			return err
		case <-ctx.Done():
			return fmt.Errorf("autoexport: the shutdown that another call began has not ended: %w", ctx.Err())
		}
	}
}
