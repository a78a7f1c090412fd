package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/signal"
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

// openEvent registers an event under its own name, and returns it with a record of zeros.
func openEvent(declaration string) (p *uevents.Provider, ev *uevents.Event, record []byte, err error) {
	if p, err = uevents.Open(nil); err != nil {
		return nil, nil, nil, err
	}
	d := tracepoint.MustParse(declaration)
	ev, err = p.Register(d, &uevents.EventOptions{Naming: uevents.NameExact})
	return p, ev, make([]byte, uevents.IndexSize+d.FixedSize()), err
}

// writeProgram, given a declaration and a number, writes that many records of zeros as soon as a tool is attached. Given
// a duration such as 3s, it writes for that long.
func writeProgram(args []string) error {
	p, ev, record, err := openEvent(args[0])
	if err != nil {
		return err
	}
	long, err := time.ParseDuration(args[1])
	n := math.MaxInt
	if err != nil {
		n, err = strconv.Atoi(args[1])
	}
	if err != nil {
		return err
	}
	if err := until(ev.Enabled); err != nil {
		return err
	}
	time.Sleep(settle)
	began := time.Now()
	for ; n > 0 && (long == 0 || time.Since(began) < long); n-- {
		if _, err := ev.WriteRecord(record); err != nil {
			return err
		}
	}
	return p.Close()
}

// manyProgram, given a name, a number and two files, registers that many events, creates the first file, and writes a record
// of each that is enabled when the second one is there.
func manyProgram(args []string) error {
	p, err := uevents.Open(nil)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	var events []*uevents.Event
	for i := range n {
		ev, err := p.Register(tracepoint.MustParse(fmt.Sprintf("%s_%03d u32 a", args[0], i)), nil)
		if err != nil {
			return err
		}
		events = append(events, ev)
	}
	if err := os.WriteFile(args[2], nil, 0o600); err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) { // attaching to so many events takes long
		if _, err := os.Stat(args[3]); err == nil {
			break
		} else if time.Since(began) > 5*time.Minute {
			return err
		}
	}
	for _, ev := range events {
		if _, err := ev.WriteRecord(make([]byte, 8)); err != nil {
			return err
		}
	}
	return p.Close()
}

// stateProgram, given a declaration and a file, writes records while its event is enabled, and adds a line to the file
// when that changes. A signal ends it.
func stateProgram(args []string) error {
	p, ev, record, err := openEvent(args[0])
	if err != nil {
		return err
	}
	states, err := os.Create(args[1])
	if err != nil {
		return err
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	for state := ""; ; {
		if now := fmt.Sprintln(ev.Enabled()); now != state {
			state = now
			if _, err := states.WriteString(state); err != nil {
				return err
			}
		}
		if _, err := ev.WriteRecord(record); err != nil {
			return err
		}
		select {
		case <-interrupted:
			return errors.Join(states.Close(), p.Close())
		case <-time.After(20 * time.Millisecond):
		}
	}
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

// signaled creates the file ready, and waits until the file begin exists: the tools of the script are attached then.
func signaled(ready, begin string) error {
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		return err
	}
	return exists(begin)
}

// exists waits until a file exists.
func exists(path string) error {
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s was not created", path)
}

// headerProgram writes EventHeader records: each line of its first argument, a file, is the name of a tracepoint and a
// payload in hexadecimal. The other arguments are those of signaled.
func headerProgram(args []string) error {
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	p, err := uevents.Open(nil)
	if err != nil {
		return err
	}
	events := map[string]*uevents.Event{}
	for line := range strings.Lines(string(text)) {
		name := strings.Fields(line)[0]
		if events[name] != nil {
			continue
		}
		d := tracepoint.MustParse(name + " u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level")
		if events[name], err = p.Register(d, &uevents.EventOptions{Naming: uevents.NameExact}); err != nil {
			return err
		}
	}
	if err := signaled(args[1], args[2]); err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		name, digits, _ := strings.Cut(line, " ")
		payload, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		if err != nil {
			return err
		}
		written, err := events[name].WriteRecord(append(make([]byte, 4), payload...)) // the kernel's index comes first
		if err == nil && !written {
			err = errors.New("no tool is attached to " + name)
		}
		if err != nil {
			return err
		}
	}
	return p.Close()
}
