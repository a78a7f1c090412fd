package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// live serves a request every half second and tells when a tool attaches or detaches.
func live(ctx context.Context, w io.Writer, p *uevents.Provider) error {
	handler, err := sloghandler.New("quickstart", &sloghandler.Options{Provider: p})
	if err != nil {
		return err
	}
	defer handler.Close()
	log := slog.New(handler)

	dir := tracefs.DefaultDir
	if fs, err := tracefs.Find(); err == nil {
		dir = fs.Path()
	}
	fmt.Fprintf(w, `This kernel has user_events (%s). Four events are registered:
quickstart_debug, quickstart_info, quickstart_warn and quickstart_error.

Attach to them from another terminal, with the command of this project

  sudo uevents watch quickstart

with perf

  sudo perf record -a -e 'user_events:quickstart_*' -- sleep 5; sudo perf script

or with the kernel's own files

  echo 1 | sudo tee %[2]s/events/user_events/quickstart_info/enable
  sudo cat %[2]s/trace_pipe
  echo 0 | sudo tee %[2]s/events/user_events/quickstart_info/enable

Logging; all events are disabled.
`, p.ABI(), dir)

	levels := []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
	names := []string{"quickstart_debug", "quickstart_info", "quickstart_warn", "quickstart_error"}
	enabled := make([]bool, len(levels))
	look, request := time.NewTicker(20*time.Millisecond), time.NewTicker(500*time.Millisecond)
	defer look.Stop()
	defer request.Stop()
	for n := 0; ; {
		select {
		case <-ctx.Done():
			fmt.Fprintln(w, "Done.")
			return nil
		case <-request.C:
			n++
			serve(log, n)
		case <-look.C:
			for i, level := range levels {
				if now := handler.Enabled(ctx, level); now != enabled[i] {
					enabled[i] = now
					fmt.Fprintf(w, "%s: %s\n", names[i], map[bool]string{true: "enabled", false: "disabled"}[now])
				}
			}
		}
	}
}
