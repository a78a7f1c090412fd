package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// withoutTerminal limits the time of a command that reads records and whose output is not a terminal, since a forgotten
// one would go unnoticed.
const withoutTerminal = 10 * time.Minute

// timeLimit is the flag --duration of a command that shows what it reads.
type timeLimit struct {
	duration time.Duration
	byItself bool // the duration is withoutTerminal, which was not asked for
}

func (l *timeLimit) addDuration(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&l.duration, "duration", 0, fmt.Sprintf("end after this `TIME`; 0 means never (default %s if standard output is no terminal)", withoutTerminal))
}

// choose chooses the time if the command line does not.
func (l *timeLimit) choose(e *env, cmd *cobra.Command) {
	if _, terminal := e.terminal(e.out); !terminal && !cmd.Flags().Changed("duration") {
		l.duration, l.byItself = withoutTerminal, true
	}
}

// sayEnded says why the command ends if that is the time that it chose itself.
func (l *timeLimit) sayEnded(ctx context.Context, e *env) {
	if l.byItself && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.say("ended after %s, as standard output is no terminal: --duration 0 lets it go on", withoutTerminal)
	}
}

// endAfter returns a context that is done after a time, too; 0 means never.
func endAfter(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}
