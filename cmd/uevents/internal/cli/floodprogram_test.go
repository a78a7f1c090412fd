package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/userevents/userevents-go/sloghandler"
)

// floodProgram, given a name and the arguments of signaled, logs debug records as fast as it can, and errors, at most 20 a second, whose
// number it prints. It ends when it is interrupted or, with a fourth argument, when a tool has detached.
func floodProgram(args []string) error {
	h, err := sloghandler.New(args[0], nil)
	if err != nil {
		return err
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	if err := signaled(args[1], args[2]); err != nil {
		return err
	}
	l := slog.New(h)
	ctx := context.Background()
	pause := time.NewTicker(50 * time.Millisecond) //nolint:forbidigo // the load: 20 errors a second
	failures, watched := 0, false
	for n := 0; len(interrupted) == 0; n++ {
		l.Debug("step", "n", n)
		select {
		case <-pause.C:
		default:
			continue
		}
		enabled := h.Enabled(ctx, slog.LevelError)
		if watched && !enabled && len(args) > 3 {
			break
		}
		watched = enabled
		l.Error("failed", "n", n)
		failures++
	}
	fmt.Println(failures)
	return h.Close()
}
