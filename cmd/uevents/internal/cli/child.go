package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

type commandError struct{ code int }

func (c commandError) Error() string {
	return fmt.Sprintf("the command ended with exit code %d", c.code)
}

// child is a command that runs while its events are read.
type child struct {
	cmd       *exec.Cmd
	recording context.Context // done when the command has ended, or the recording time is over
	ended     chan struct{}
	err       error // of the command; valid when ended is closed
}

// startChild starts a command with the streams of this process. find attaches to programs that wait for it: those of the command,
// until the reading has ended. A signal that ends this process goes to the command, so that events of its shutdown are recorded, too, and
// so do further ones: they do not end this process before the command, since the recording would have no end. Their handler is there
// before the command: untilSignal, which ends ctx at the first signal, has removed its own by then.
func (e *env) startChild(ctx context.Context, command []string, find func(pid int)) (*child, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = e.in, e.out, e.err, e.environment
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s was not started: %w", command[0], context.Cause(ctx))
	}
	meeting, variable, err := newMeeting()
	if err != nil {
		return nil, err
	}
	if variable != "" {
		cmd.Env = append(cmd.Environ(), variable)
	}
	// Else a closed pipe would end this process, and leave the command without a parent. The command does not inherit this.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	again := make(chan os.Signal, 1)
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		signal.Stop(again)
		return nil, errors.Join(startError{err}, meeting.Close())
	}
	go meeting.serve(cmd.Process.Pid, variable, find)
	missed := ctx.Err() != nil // the signal may have come before the command
	recording, ended := context.WithCancel(context.WithoutCancel(ctx))
	c := &child{cmd: cmd, recording: recording, ended: make(chan struct{})}
	context.AfterFunc(recording, func() { _ = meeting.Close() }) // programs that wait go on
	interrupted := context.AfterFunc(ctx, func() {
		by := os.Interrupt
		cause := context.Cause(ctx)
		if end, ok := errors.AsType[endedBy](cause); ok {
			by = end.signal
			select {
			case <-again: // the same signal, or one that came with it
			default:
			}
		} else if errors.Is(cause, context.DeadlineExceeded) { // the command continues
			by = nil
			ended()
		}
		for {
			// A terminal interrupts all of its foreground processes itself, wherever their streams lead.
			if by != nil && (by != os.Interrupt || missed || !e.foreground()) {
				_ = cmd.Process.Signal(by) // it may have ended
			}
			missed = false
			select {
			case by = <-again:
			case <-c.ended:
				return
			}
		}
	})
	go func() {
		c.err = cmd.Wait()
		signal.Stop(again)
		interrupted()
		close(c.ended)
		ended()
	}()
	return c, nil
}

func splitCommand(cmd *cobra.Command, args []string) (patterns, command []string) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		return args[:dash:dash], args[dash:] // patterns are appended to
	}
	return args, nil
}

func (c *child) runs() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// wait waits until the command has ended. The error carries its exit code, unless that is 0.
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
