package cli

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/examples/webserver/users"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// program returns the main function of a program that scripts run beside the command.
func program(f func(args []string) error) func() {
	return func() { must(f(os.Args[1:])) }
}

// must ends a program that has an error.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// inNamespace matches what a command that finds no event says first in a PID namespace of its own, such as that of a container.
const inNamespace = `(?:! programs outside of this PID namespace are not found: .*\n  -> .*\n)?`

// hostile is a text that a program might log to deceive its reader.
const hostile = "\x1b[2Jgone\n12:00:00 ERROR forged \u202egnp.exe \xff"

type httpRequest struct {
	Status uint16 `uevent:"status"`
	Route  string `uevent:"route"`
}

// logProgram, given a name and the arguments of signaled, logs once the tools of the script are attached. With a fourth
// argument, a file, it exits when that exists.
func logProgram(args []string) error {
	h, err := sloghandler.New(args[0], &sloghandler.Options{
		Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[httpRequest]("request", nil)},
	})
	must(err)
	must(signaled(args[1], args[2]))
	l := slog.New(h)
	l.Debug("cache miss", "key", "user:41", "shard", 3)
	l.Info("request", "status", 500, "route", "/users/{id}")
	l.Info(hostile, "key", hostile)
	l.Warn(strings.Repeat("long ", 1000))
	l.Error("upstream failed", "err", errors.New("time out"))
	if len(args) > 3 {
		must(exists(args[3])) // meanwhile its stacks can be read
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

// writeProgram, given a declaration and a number, writes that many records of zeros once a tool is attached; with the word
// forever in place of the number, it writes until an interrupt. A third argument is a file that it creates once its event is
// registered, and with a fourth one it begins when that file exists.
func writeProgram(args []string) error {
	p, ev, record, err := openEvent(args[0])
	must(err)
	n := math.MaxInt
	if args[1] != "forever" {
		n, err = strconv.Atoi(args[1])
		must(err)
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	if len(args) > 2 {
		must(create(args[2]))
	}
	if len(args) > 3 {
		must(exists(args[3]))
	}
	if !testscale.Wait(ev.Enabled) {
		return errors.New("no tool was attached")
	}
	for ; n > 0 && len(interrupted) == 0; n-- {
		_, err = ev.WriteRecord(record)
		must(err)
	}
	return p.Close()
}

// manyProgram, given a name, a number and the arguments of signaled, registers that many events, and writes a record of each
// that is enabled.
func manyProgram(args []string) error {
	p, err := uevents.Open(nil)
	must(err)
	n, err := strconv.Atoi(args[1])
	must(err)
	var events []*uevents.Event
	for i := range n {
		ev, err := p.Register(tracepoint.MustParse(fmt.Sprintf("%s_%03d u32 a", args[0], i)), nil)
		must(err)
		events = append(events, ev)
	}
	must(signaled(args[2], args[3]))
	for _, ev := range events {
		_, err = ev.WriteRecord(make([]byte, 8))
		must(err)
	}
	return p.Close()
}

// stateProgram, given a declaration and a file, writes records while its event is enabled, and adds a line to the file
// when that changes. A signal ends it.
func stateProgram(args []string) error {
	p, ev, record, err := openEvent(args[0])
	must(err)
	states, err := os.Create(args[1])
	must(err)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	for state := ""; ; {
		if now := fmt.Sprintln(ev.Enabled()); now != state {
			state = now
			_, err = states.WriteString(state)
			must(err)
		}
		_, err = ev.WriteRecord(record)
		must(err)
		select {
		case <-interrupted:
			return errors.Join(states.Close(), p.Close())
		case <-time.After(20 * time.Millisecond): //nolint:forbidigo // the load: 50 records a second
		}
	}
}

// signaled creates the file ready, and waits until the file begin exists: the tools of the script are attached then.
func signaled(ready, begin string) error {
	if err := create(ready); err != nil {
		return err
	}
	return exists(begin)
}

// create creates the file by which a script knows that a program is ready. It is an error if the file exists: an earlier program
// created it, so the script does not wait for this one.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// exists waits until a file exists.
func exists(path string) error {
	if !testscale.Wait(func() bool { _, err := os.Stat(path); return err == nil }) {
		return fmt.Errorf("%s was not created", path)
	}
	return nil
}

// seen, given a place, a regular expression and a command, runs the command, interrupts it once the place has a match, and exits
// as the command does. The place is stdout or stderr of the command, or a pattern of paths.
func seen(args []string) error {
	place, pattern := args[0], regexp.MustCompile("(?m)"+args[1])
	cmd := exec.Command(args[2], args[3:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	var said syncbuffer.Buffer
	switch place {
	case "stdout":
		cmd.Stdout = io.MultiWriter(os.Stdout, &said)
	case "stderr":
		cmd.Stderr = io.MultiWriter(os.Stderr, &said)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its exit code follows
		close(ended)
	}()
	found := testscale.Wait(func() bool {
		select {
		case <-ended:
			return true
		default:
		}
		paths, _ := filepath.Glob(place) // a constant of a script
		for _, path := range paths {
			if content, err := os.ReadFile(path); err == nil && pattern.Match(content) {
				return true
			}
		}
		return pattern.MatchString(said.String())
	})
	_ = cmd.Process.Signal(os.Interrupt) // it may have ended
	<-ended
	if !found {
		return fmt.Errorf("%s has no match for %s", place, pattern)
	}
	os.Exit(cmd.ProcessState.ExitCode())
	return nil
}

// headerProgram writes EventHeader records: each line of its first argument, a file, is the name of a tracepoint and a
// payload in hexadecimal. The other arguments are those of signaled.
func headerProgram(args []string) error {
	text, err := os.ReadFile(args[0])
	must(err)
	p, err := uevents.Open(nil)
	must(err)
	events := map[string]*uevents.Event{}
	for line := range strings.Lines(string(text)) {
		name := strings.Fields(line)[0]
		if events[name] != nil {
			continue
		}
		d := tracepoint.MustParse(name + " u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level")
		events[name], err = p.Register(d, &uevents.EventOptions{Naming: uevents.NameExact})
		must(err)
	}
	must(signaled(args[1], args[2]))
	for line := range strings.Lines(string(text)) {
		name, digits, _ := strings.Cut(line, " ")
		payload, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		must(err)
		written, err := events[name].WriteRecord(append(make([]byte, 4), payload...)) // the kernel's index comes first
		if err == nil && !written {
			err = errors.New("no tool is attached to " + name)
		}
		must(err)
	}
	return p.Close()
}

// TestSignaled: each program of a script has a file of its own that tells that it is ready.
func TestSignaled(t *testing.T) {
	dir := t.TempDir()
	ready, begin := filepath.Join(dir, "ready"), filepath.Join(dir, "begin")
	require.NoError(t, create(begin))
	require.NoError(t, signaled(ready, begin))
	assert.FileExists(t, ready)
	assert.ErrorIs(t, signaled(ready, begin), fs.ErrExist)
}

// floodProgram, given a name and the arguments of signaled, logs debug records as fast as it can, and errors, at most 20 a second, whose
// number it prints. It ends when it is interrupted or, with a fourth argument, when a tool has detached.
func floodProgram(args []string) error {
	h, err := sloghandler.New(args[0], nil)
	must(err)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	must(signaled(args[1], args[2]))
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

// requestFails reports whether a request of requestProgram fails.
func requestFails(n int) bool { return n%1000 == 999 }

// requestProgram, given a name, a number and the arguments of signaled, serves so many requests, 5,000 a second and a hundred at a time: each
// has three debug records. Of a thousand one fails, unless a fifth argument says that another program tells.
func requestProgram(args []string) error {
	h, err := sloghandler.New(args[0], nil)
	must(err)
	n, err := strconv.Atoi(args[1])
	must(err)
	must(signaled(args[2], args[3]))
	l := slog.New(h)
	const batch = 100
	for first := 0; first < n; first += batch {
		begin := time.Now()
		for step := range 3 {
			for i := first; i < min(n, first+batch); i++ {
				l.Debug("step", "request_id", fmt.Sprint("r", i), "step", step)
			}
		}
		for i := first; i < min(n, first+batch); i++ {
			if len(args) == 4 && requestFails(i) {
				l.Error("failed", "request_id", fmt.Sprint("r", i), "step", 3)
			} else {
				l.Info("served", "request_id", fmt.Sprint("r", i), "step", 3)
			}
		}
		time.Sleep(time.Until(begin.Add(20 * time.Millisecond))) //nolint:forbidigo // pacing of the load
	}
	return h.Close()
}

// webServer serves the users of examples/webserver. It prints a line when its events are registered, requests some users
// after a line of its standard input, and exits when that ends.
func webServer([]string) error {
	h, err := sloghandler.New("webserver", nil)
	must(err)
	slog.SetDefault(slog.New(h))
	fmt.Println("registered")
	in := bufio.NewReader(os.Stdin)
	_, err = in.ReadString('\n')
	must(err)
	server := httptest.NewServer(new(users.Store).Handler())
	defer server.Close()
	for _, id := range []int{2, 2, 4} {
		response, err := http.Get(fmt.Sprint(server.URL, "/users/", id))
		must(err)
		response.Body.Close()
	}
	_, err = io.Copy(io.Discard, in) // so that its stacks can be read
	must(err)
	return h.Close()
}
