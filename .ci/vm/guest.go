package main

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// settings are what a guest reads when it boots, a JSON file in its root directory.
type settings struct {
	Kernel   string
	Mark     string // stands before an exit status in the guest's output
	Counting bool   // the root directory is an archive in memory, and nothing may run beside the program
	AsHost   bool   // programs must not know that this is a guest, nor change it
	Shell    bool
	Job      job // of a shell, and of a guest that counts, which hears nothing from the host
}

// job is a program for a guest to run. It is a line of JSON that the host sends. One without a program asks the guest to stop
// the program that runs.
type job struct {
	Args []string // program and arguments
	Dir  string
	Env  []string
}

// answerTime is how long a guest may print nothing after it was asked to stop its program.
const answerTime = 10 * time.Second

// guest is the host's end of a running machine. Its programs write to a virtio port or a serial line directly: what they
// printed has left the guest when the kernel panics the next moment. An exit status follows, behind a mark.
type guest struct {
	machine machine
	mark    []byte // begins with a NUL and has no other
	ready   bool   // it can take a program
	command *exec.Cmd

	requests io.Writer
	chunks   chan []byte // closed when the guest hangs up
	held     []byte      // may be the mark
	messages strings.Builder
	shown    int // bytes of the console that earlier runs had
}

func boot(m machine, s settings) (_ *guest, err error) {
	if m.dir, err = os.MkdirTemp(m.dir, "guest-"); err != nil {
		return nil, err
	}
	s.Kernel, s.Mark, s.Counting = m.kernel, "\x00"+rand.Text(), m.accel == accelCount
	g := &guest{machine: m, mark: []byte(s.Mark), ready: s.Counting, chunks: make(chan []byte)}
	if s.Counting {
		err = writeInitrd(m, s)
	} else {
		err = writeJSON(m.settings(), s)
	}
	if err == nil {
		g.command, err = m.command()
	}
	if err != nil {
		return nil, fmt.Errorf("prepare the guest: %w", err)
	}
	if err := g.start(); err != nil {
		return nil, fmt.Errorf("start %s: %w (make deps installs QEMU)", filepath.Base(g.command.Path), err)
	}
	return g, nil
}

// start starts the program that is the machine, and connects to its port.
func (g *guest) start() error {
	console, err := os.Create(g.machine.console())
	if err != nil {
		return err
	}
	defer func() { _ = console.Close() }()
	cmd := g.command
	cmd.ExtraFiles = []*os.File{console} // QEMU opens it by its name
	// No guest outlives a runner that is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if g.machine.terminal {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		return cmd.Start()
	}
	cmd.Stderr = &g.messages
	if g.requests, err = cmd.StdinPipe(); err != nil {
		return err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go g.read(output)
	return nil
}

func runOnce(m machine, j job, silence time.Duration, out io.Writer) (end ending, err error) {
	g, err := boot(m, settings{Job: j})
	if err != nil {
		return ending{}, err
	}
	defer g.close()
	return g.run(j, silence, out)
}

// run runs a program and copies what it prints to out. The error is about the host; what the guest did wrong is in the ending.
// After a failure the guest has ended.
func (g *guest) run(j job, silence time.Duration, out io.Writer) (end ending, err error) {
	if !g.ready { // it says so, with a status
		end, err = g.follow(g.machine.patience, out)
		g.ready = true
	}
	if end.failure == "" && err == nil && g.machine.accel != accelCount {
		err = g.send(j)
	}
	if end.failure == "" && err == nil {
		end, err = g.follow(silence, out)
	}
	if end.failure != "" {
		g.stop()
	}
	console, readErr := os.ReadFile(g.machine.console())
	// User Mode Linux describes the machine even if all is well, before it has a console.
	if said := strings.TrimSpace(g.messages.String()); end.failure != "" && said != "" && (!isUML(g.machine.kernel) || len(console) == 0) {
		end.failure += "; " + filepath.Base(g.command.Path) + " says: " + said
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

func (g *guest) close() {
	g.stop()
	_ = os.RemoveAll(g.machine.dir) // the runner removes the directory above, too
}

func (g *guest) send(j job) error {
	line, err := json.Marshal(j)
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

// follow copies the output until the program ends, the guest dies or prints nothing for too long; 0: it may.
func (g *guest) follow(silence time.Duration, out io.Writer) (end ending, err error) {
	asked, patience := 0, silence
	for {
		var silent <-chan time.Time
		if patience > 0 {
			silent = time.After(patience)
		}
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
					end.failure = fmt.Sprintf("the test hung: it printed nothing for %v (exit status %d)", silence, end.status)
				}
				return end, nil
			case !open:
				end.failure = "the guest stopped before its work was done"
				return end, nil
			}
		case <-silent:
			if asked == 2 {
				end.failure = fmt.Sprintf("the guest hung: it printed nothing for %v and did not stop its tests", silence)
				return end, nil
			}
			asked, patience = asked+1, answerTime
			if err := g.send(job{}); err != nil {
				return end, err
			}
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

func writeJSON(file string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// onGuests runs test binaries in guests that are kept from one to the next.
func (s *suite) onGuests(r *report) error {
	programs, err := s.programs()
	if err != nil {
		return err
	}
	size := func(p program) int64 {
		info, err := os.Stat(p.file)
		if err != nil {
			return 0 // and it cannot run
		}
		return info.Size()
	}
	// Large ones come first: they take the longest.
	slices.SortStableFunc(programs, func(a, b program) int { return cmp.Compare(size(b), size(a)) })
	queue := make(chan program, len(programs))
	for _, p := range programs {
		queue <- p
	}
	close(queue)
	var workers sync.WaitGroup
	for range min(s.guests, len(programs)) {
		workers.Go(func() {
			w := worker{suite: s, report: r}
			for p := range queue {
				w.run(p)
			}
			w.drop()
		})
	}
	workers.Wait()
	return nil
}

// job returns a program as a guest runs it, in the directory of its package.
func (s *suite) job(p program, args ...string) job {
	dir := filepath.Join(s.root, strings.TrimPrefix(p.pkg+"/", modulePath))
	return job{Args: slices.Concat([]string{p.file}, p.args, args), Dir: dir, Env: testEnv(s.machine)}
}

// worker runs one test binary after the other, in the same guest as long as nothing goes wrong in it.
type worker struct {
	suite  *suite
	report *report
	guest  *guest // nil: not yet booted
}

// run runs a test binary, and reports what it prints as go test -json does.
func (w *worker) run(p program) {
	start := time.Now()
	convert := exec.Command("go", "tool", "test2json", "-t", "-p", p.pkg)
	convert.Stderr = os.Stderr
	var end ending
	in, err := convert.StdinPipe()
	if err == nil {
		converted := make(chan error, 1)
		go func() { converted <- w.report.follow(convert) }()
		end, err = w.runIn(p, in)
		err = errors.Join(err, in.Close(), <-converted)
	}
	problems := end.problems()
	if err != nil {
		problems = append(problems, err.Error())
	}
	if len(problems) > 0 {
		w.drop()
	}
	w.report.ended(p.pkg, end.status, problems, time.Since(start))
}

// runIn runs a test binary in the guest, which it boots if there is none.
func (w *worker) runIn(p program, out io.Writer) (end ending, err error) {
	if w.guest == nil {
		if w.guest, err = boot(w.suite.machine, settings{AsHost: w.suite.asHost}); err != nil {
			return end, err
		}
	}
	end, err = w.guest.run(w.suite.job(p, "-test.v=test2json"), w.suite.silence, out)
	end.explain(w.suite.machine.kernel, out)
	return end, err
}

// drop ends the guest, if there is one.
func (w *worker) drop() {
	if w.guest != nil {
		w.guest.close()
	}
	w.guest = nil
}
