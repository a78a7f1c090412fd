package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// commandError is the exit code of a command that was run.
type commandError struct{ code int }

func (c commandError) Error() string {
	return fmt.Sprintf("the command ended with exit code %d", c.code)
}

// child is a command that runs while its events are recorded.
type child struct {
	cmd       *exec.Cmd
	recording context.Context // done when the command has ended, or the time to record is over
	ended     chan struct{}
	err       error // of the command, when ended is closed
}

// startChild starts a command with the streams of this process. stop is called when it has ended. An interrupt of this process
// is one of the command: its events while it ends are recorded, too.
func (e *env) startChild(ctx context.Context, command []string, stop func()) (*child, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.in, e.out, e.err
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	recording, ended := context.WithCancel(context.WithoutCancel(ctx))
	c := &child{cmd: cmd, recording: recording, ended: make(chan struct{})}
	interrupted := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) { // the command goes on
			ended()
			return
		}
		// A terminal has interrupted all of its foreground processes.
		if _, terminal := e.terminal(e.in); !terminal {
			_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		}
	})
	go func() {
		c.err = cmd.Wait()
		interrupted()
		close(c.ended)
		ended()
		stop()
	}()
	return c, nil
}

// runs reports whether the command has not ended yet.
func (c *child) runs() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// wait waits until the command has ended. The error is its exit code unless that is 0.
func (c *child) wait() error {
	<-c.ended
	exit, ok := errors.AsType[*exec.ExitError](c.err)
	switch {
	case !ok:
		return c.err
	case exit.ExitCode() < 0: // ended by a signal
		return commandError{signalCode(exit)}
	}
	return commandError{exit.ExitCode()}
}
