package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// settings are what a guest reads when it boots, a JSON file in its root directory.
type settings struct {
	Kernel     string
	Mark       string // stands before an exit status in the guest's output
	Counting   bool   // nothing may run beside the program
	AsHost     bool   // programs must not know that this is a guest, nor change it
	Memory     bool   // the root directory is an archive in memory already
	UML        bool   // the kernel is a program of the host
	Shell      bool
	Rows, Cols uint16 // of the shell's terminal
	Job        *job   // of a shell, and of a guest that counts, which hears nothing from the host
}

// job is a program for a guest to run.
type job struct {
	Args []string // program and arguments
	Dir  string
	Env  []string
}

// request is a line of JSON that the host sends to a guest: a program to run, or without one that the running program is to stop.
type request struct{ Job *job }

// limits say how long a guest may print nothing; 0: for ever.
type limits struct {
	silence time.Duration
	answer  time.Duration // after it was asked to stop
}

// guest is the host's end of a running machine. Its programs write to a virtio port or a serial line directly: what they
// printed has left the guest when the kernel panics the next moment. An exit status follows, behind a mark.
type guest struct {
	machine machine
	job     *job   // the one that it boots with
	mark    []byte // begins with a NUL and has no other
	started bool   // a program of an earlier run
	command *exec.Cmd
	dir     string // of its files

	requests io.Writer
	chunks   chan []byte // closed when the guest hangs up
	held     []byte      // may be the mark
	messages strings.Builder
	shown    int // bytes of the console that earlier runs had
}

// ending is how a program in a guest came to its end.
type ending struct {
	status  int    // of the program
	failure string // why there is no proper status
	console string // what the kernel printed meanwhile
}

// boot starts a machine.
func boot(m machine, s settings) (_ *guest, err error) {
	dir, err := os.MkdirTemp("", "userevents-vm-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	m.jobFile, m.initrd, m.console = filepath.Join(dir, "job.json"), filepath.Join(dir, "initrd"), filepath.Join(dir, "console.log")
	if err := m.check(); err != nil {
		return nil, err
	}
	s.Kernel, s.Mark = m.kernel, "\x00"+rand.Text()
	s.Counting, s.Memory, s.UML = m.accel == accelCount, m.inMemory(), m.uml()
	write := func() error { return writeSettings(m.jobFile, s) }
	if s.Memory {
		write = func() error { return writeInitrd(m, s) }
	}
	if err := write(); err != nil {
		return nil, fmt.Errorf("write the guest's files: %w", err)
	}
	g := &guest{machine: m, job: s.Job, mark: []byte(s.Mark), dir: dir, chunks: make(chan []byte)}
	return g, g.start()
}

// start starts the program that is the machine, and connects to its port.
func (g *guest) start() (err error) {
	cmd, err := g.machine.command()
	if err != nil {
		return err
	}
	defer func() {
		for _, file := range cmd.ExtraFiles {
			_ = file.Close()
		}
	}()
	g.command, cmd.Stderr = cmd, &g.messages
	// No guest outlives a runner that is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var output io.Reader
	switch {
	case g.machine.terminal: // the machine has this process's
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	case g.machine.uml(): // whose standard output has messages
		in, requests, err := os.Pipe()
		if err != nil {
			return err
		}
		out, port, err := os.Pipe()
		if err != nil {
			return err
		}
		cmd.Stdout, cmd.ExtraFiles = &g.messages, append(cmd.ExtraFiles, in, port)
		g.requests, output = requests, out
	default:
		if g.requests, err = cmd.StdinPipe(); err != nil {
			return err
		}
		if output, err = cmd.StdoutPipe(); err != nil {
			return err
		}
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w (make deps installs QEMU)", filepath.Base(cmd.Path), err)
	}
	if output != nil {
		go g.read(output)
	}
	return nil
}

// run runs a program and copies what it prints to out. The error is about the host; what the guest did wrong is in the ending.
// After a failure the guest has ended.
func (g *guest) run(j job, out io.Writer, lim limits, interrupt <-chan os.Signal) (end ending, err error) {
	if g.job == nil {
		if !g.started { // it says so, with a status, when it can take a program
			end, err = g.follow(out, lim, interrupt)
		}
		if end.failure == "" && err == nil {
			err = g.send(request{Job: &j})
		}
	}
	g.started = true
	if end.failure == "" && err == nil {
		end, err = g.follow(out, lim, interrupt)
	}
	if end.failure != "" {
		g.stop()
		if said := strings.TrimSpace(g.messages.String()); said != "" && !g.machine.uml() {
			end.failure += "; QEMU says: " + said
		}
	}
	console, readErr := os.ReadFile(g.machine.console)
	if errors.Is(readErr, os.ErrNotExist) { // QEMU may have failed before it made one
		readErr = nil
	}
	end.console = strings.ReplaceAll(string(console[min(g.shown, len(console)):]), "\r", "")
	g.shown = len(console)
	return end, errors.Join(err, readErr)
}

// stop ends the machine, in which only process 1 is left. It may be called again.
func (g *guest) stop() {
	_ = g.command.Process.Kill()
	for range g.chunks { // until read has ended
	}
	_ = g.command.Wait()
}

// close stops the machine and removes its files.
func (g *guest) close() error {
	g.stop()
	return os.RemoveAll(g.dir)
}

func (g *guest) send(r request) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = g.requests.Write(append(line, '\n'))
	return err
}

func (g *guest) read(from io.Reader) {
	defer close(g.chunks)
	for {
		chunk := make([]byte, 32<<10)
		n, err := from.Read(chunk)
		if err != nil {
			return
		}
		g.chunks <- chunk[:n]
	}
}

// follow copies the output until the program ends, the guest dies or hangs.
func (g *guest) follow(out io.Writer, lim limits, interrupt <-chan os.Signal) (end ending, err error) {
	var clock <-chan time.Time
	restart := func(after time.Duration) {
		if after > 0 {
			clock = time.After(after)
		}
	}
	restart(lim.silence)
	asked := 0
	for {
		select {
		case chunk, open := <-g.chunks:
			text, status, done := g.split(chunk)
			if _, err := out.Write(text); err != nil {
				return end, err
			}
			switch {
			case done:
				if _, err := fmt.Sscan(status, &end.status); err != nil {
					return end, fmt.Errorf("exit status %q of the guest: %w", status, err)
				}
				if asked > 0 {
					end.failure = fmt.Sprintf("the test hung: it printed nothing for %v (exit status %d)", lim.silence, end.status)
				}
				return end, nil
			case !open:
				end.failure = "the guest stopped before its work was done"
				return end, nil
			case asked > 0:
				restart(lim.answer)
			default:
				restart(lim.silence)
			}
		case <-clock:
			if asked == 2 {
				end.failure = fmt.Sprintf("the guest hung: it printed nothing for %v and did not stop its tests", lim.silence)
				return end, nil
			}
			asked++
			if err := g.send(request{}); err != nil {
				return end, err
			}
			restart(lim.answer)
		case s := <-interrupt:
			end.failure = fmt.Sprintf("the guest was not done: %v", s)
			return end, nil
		}
	}
}

// split takes a chunk and returns what of the output is surely not the mark, and the line behind
// the mark when that is complete.
func (g *guest) split(chunk []byte) (text []byte, status string, done bool) {
	g.held = append(g.held, chunk...)
	n := bytes.Index(g.held, g.mark)
	if n >= 0 {
		line, _, complete := bytes.Cut(g.held[n+len(g.mark):], []byte{'\n'})
		status, done = string(line), complete
	} else if n = bytes.LastIndexByte(g.held, 0); n < 0 || !bytes.HasPrefix(g.mark, g.held[n:]) {
		n = len(g.held)
	}
	text, g.held = g.held[:n:n], g.held[n:]
	if done {
		g.held = nil
	}
	return text, status, done
}

// complaint matches what a kernel prints when something in it went wrong.
var complaint = regexp.MustCompile(`Kernel panic|Oops|BUG:|WARNING:|general protection fault|Internal error:|Unable to handle|Out of memory:`)

// expectedComplaint matches the one complaint that tests provoke: perf warns, once,
// about a payload above its buffer, which the size tests must try.
var expectedComplaint = regexp.MustCompile(`WARNING: .*perf_trace_buf_alloc`)

// startMark separates, in the console log, what the kernel said while it booted from what it
// said while programs ran.
const startMark = "userevents-vm: start"

// problems returns what was wrong with the guest rather than with the program.
func (e ending) problems() (list []string) {
	for line := range strings.Lines(e.console) {
		if complaint.MatchString(line) && !expectedComplaint.MatchString(line) {
			list = append(list, strings.TrimSpace(line))
		}
	}
	if e.failure != "" {
		list = append(list, e.failure)
	}
	return list
}

// verdict prints the result of a run and returns the exit status to end with.
func (e ending) verdict(kernel string, out io.Writer) error {
	problems := e.problems()
	if len(problems) == 0 && e.status == 0 {
		return nil
	}
	console := e.console
	if len(problems) == 0 { // the kernel is hardly to blame
		if _, after, ok := strings.Cut(console, startMark); ok {
			console = after
		}
	}
	if console = strings.TrimSpace(console); console != "" {
		fmt.Fprintf(out, "# kernel %s: console log:\n%s\n# kernel %s: end of console log\n", kernel, console, kernel)
	}
	for _, p := range problems {
		fmt.Fprintf(out, "# kernel %s: FAIL: %s\n", kernel, p)
	}
	return exitStatus(max(e.status, 1))
}

func writeSettings(file string, s settings) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}
