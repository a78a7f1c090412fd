package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// withoutTerminal limits the time of a command that shows records while neither its output nor its messages go to a terminal: a
// forgotten one, of a script or a lost connection, would slow programs down unnoticed. With watch | tee at a terminal there is an
// operator, who wants no end.
const withoutTerminal = 10 * time.Minute

// envDuration is the environment variable with another time in place of withoutTerminal.
const envDuration = "USER_EVENTS_DURATION"

type timeLimit struct {
	duration time.Duration
	byItself bool // the duration was not asked for on the command line
}

func (l *timeLimit) addDuration(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&l.duration, "duration", 0, fmt.Sprintf("end after this `TIME`, also if uevents hangs; 0 means never (default $%s or %s if neither standard output nor standard error is a terminal)",
		envDuration, withoutTerminal))
}

// choose chooses the time if the command line does not. Errors are usage errors.
func (l *timeLimit) choose(e *env, cmd *cobra.Command) error {
	_, output := e.terminal(e.out)
	_, messages := e.terminal(e.err)
	if output || messages || cmd.Flags().Changed("duration") {
		return nil
	}
	l.duration = withoutTerminal
	if text := os.Getenv(envDuration); text != "" {
		var err error
		if l.duration, err = time.ParseDuration(text); err != nil || l.duration < 0 {
			return usageError{fmt.Errorf("the environment variable %s is %q: it must be a time such as 30m, or 0 for no limit", envDuration, text)}
		}
	}
	l.byItself = l.duration > 0
	return nil
}

// sayLimit says at the start that the command will end at the time that it chose itself.
func (l *timeLimit) sayLimit(e *env) {
	if l.byItself {
		e.say("ends after %s, as no terminal shows it; --duration 0 lets it go on", l.duration)
	}
}

// sayEnded says why the command ends if that is the time that it chose itself.
func (l *timeLimit) sayEnded(ctx context.Context, e *env) {
	if l.byItself && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.say("! ended after %s, as no terminal shows it; --duration 0 lets it go on", l.duration)
	}
}

// endAfter returns a context that is done after a time, too; 0 means never.
func endAfter(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}
