package tracefs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
)

// Pipe reads records as lines of text, see [Instance.Text], while they are made, and takes them out of the ring buffers. It comes
// from [Instance.OpenPipe]. Its methods may be called concurrently.
type Pipe struct {
	f    *os.File
	ctx  context.Context
	stop func() bool
}

// OpenPipe opens trace_pipe. An instance has one pipe at a time: the error wraps EBUSY while another one is open, of any
// program. When ctx is done, a Read that waits returns its cause, as do all later
// ones.
func (i *Instance) OpenPipe(ctx context.Context) (*Pipe, error) {
	f, err := os.Open(i.Path("trace_pipe"))
	if errors.Is(err, errno.EBUSY) {
		return nil, fmt.Errorf("opening trace_pipe of %s: %w (another program reads it: make an instance with Dir.NewInstance)", i, err)
	} else if err != nil {
		return nil, fmt.Errorf("opening trace_pipe of %s: %w", i, err)
	}
	if err := f.SetReadDeadline(time.Time{}); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("trace_pipe of %s cannot be waited for: %w", i, err)
	}
	p := &Pipe{f: f, ctx: ctx}
	p.stop = context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	return p, nil
}

// Read reads text of whole records, as many as there are and fit b, and waits when there are none. Of a record that does
// not fit, it reads the part that does, and the next call goes on behind it. It returns [os.ErrDeadlineExceeded] after the deadline, [os.ErrClosed] after Close, and the cause of the
// context when that is done.
func (p *Pipe) Read(b []byte) (int, error) {
	if err := context.Cause(p.ctx); err != nil {
		return 0, err
	}
	n, err := p.f.Read(b)
	if err != nil && p.ctx.Err() != nil {
		err = context.Cause(p.ctx)
	}
	return n, err
}

// SetReadDeadline sets the time until which Read waits; the zero time means no limit.
func (p *Pipe) SetReadDeadline(t time.Time) error {
	err := p.f.SetReadDeadline(t)
	if p.ctx.Err() != nil {
		// The context's deadline, which is past, must not be replaced.
		err = p.f.SetReadDeadline(time.Unix(1, 0))
	}
	return err
}

// Close closes the pipe, also while another goroutine reads. It may be called more than once.
func (p *Pipe) Close() error {
	p.stop()
	if err := p.f.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
