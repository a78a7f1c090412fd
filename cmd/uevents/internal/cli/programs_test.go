package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// program returns the main function of a program that scripts run beside the command.
func program(f func(args []string) error) func() {
	return func() {
		if err := f(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// hostile is a text that a program might log to deceive its reader.
const hostile = "\x1b[2Jgone\n12:00:00 ERROR forged \u202egnp.exe \xff"

type httpRequest struct {
	Status uint16 `uevent:"status"`
	Route  string `uevent:"route"`
}

// logProgram, given a name and a level, logs as soon as a tool is attached to the events of that level and above. With
// a third argument it exits after a delay.
func logProgram(args []string) error {
	h, err := sloghandler.New(args[0], &sloghandler.Options{
		Declared: []sloghandler.Declared{sloghandler.Declare[httpRequest]("request", nil)},
	})
	if err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(args[1])); err != nil {
		return err
	}
	for l := level; l <= slog.LevelError; l += 4 {
		if err := until(func() bool { return h.Enabled(context.Background(), l) }); err != nil {
			return err
		}
	}
	time.Sleep(settle)
	l := slog.New(h)
	l.Debug("cache miss", "key", "user:41", "shard", 3)
	l.Info("request", "status", 500, "route", "/users/{id}")
	l.Info(hostile, "key", hostile)
	l.Warn(strings.Repeat("long ", 1000))
	l.Error("upstream failed", "err", errors.New("time out"))
	if len(args) > 2 {
		time.Sleep(time.Second) // so that its stacks can be read
	}
	return h.Close()
}

// writeProgram, given a declaration and a number, writes that many records of zeros as soon as a tool is attached.
func writeProgram(args []string) error {
	p, err := uevents.Open(nil)
	if err != nil {
		return err
	}
	d := tracepoint.MustParse(args[0])
	ev, err := p.Register(d, &uevents.EventOptions{Naming: uevents.NameExact})
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	if err := until(ev.Enabled); err != nil {
		return err
	}
	time.Sleep(settle)
	for record := make([]byte, 4+d.FixedSize()); n > 0; n-- {
		if _, err := ev.WriteRecord(record); err != nil {
			return err
		}
	}
	return p.Close()
}

// settle is the delay of a program after its event is enabled: meanwhile the tool attaches on other CPUs, and to other
// events.
const settle = 700 * time.Millisecond

// until waits until a tool is attached.
func until(enabled func() bool) error {
	for began := time.Now(); !enabled(); time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			return errors.New("no tool was attached")
		}
	}
	return nil
}
