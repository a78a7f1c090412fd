package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
)

// limits say how long a guest may print nothing; 0: for ever.
type limits struct {
	boot    time.Duration // before its first output
	silence time.Duration
	answer  time.Duration // after it was asked to stop
}

// guest is the host's end of a virtio-serial port. The program in the guest writes to it
// directly: what it printed has left the guest when the kernel panics the next moment. Its exit
// status follows, behind a mark. In the other direction a byte asks the program to stop,
// politely the first time.
type guest struct {
	mark      []byte // begins with a NUL and has no other
	limits    limits
	requests  io.Writer
	interrupt <-chan os.Signal
	chunks    chan []byte // closed when QEMU hangs up
	held      []byte      // may be the mark
}

// ending is how a guest came to its end.
type ending struct {
	status  int    // of the program
	failure string // why there is no proper status
	console string // what the kernel printed
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
func (g *guest) follow(out io.Writer) (end ending, err error) {
	var clock <-chan time.Time
	restart := func(after time.Duration) {
		if after > 0 {
			clock = time.After(after)
		}
	}
	restart(g.limits.boot)
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
					end.failure = fmt.Sprintf("the test hung: it printed nothing for %v (exit status %d)", g.limits.silence, end.status)
				}
				return end, nil
			case !open:
				end.failure = "the guest stopped before its work was done"
				return end, nil
			case asked > 0:
				restart(g.limits.answer)
			default:
				restart(g.limits.silence)
			}
		case <-clock:
			if asked == 2 {
				end.failure = fmt.Sprintf("the guest hung: it printed nothing for %v and did not stop its tests", g.limits.silence)
				return end, nil
			}
			asked++
			if _, err := g.requests.Write([]byte{'q'}); err != nil {
				return end, err
			}
			restart(g.limits.answer)
		case s := <-g.interrupt:
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
	return text, status, done
}

// complaint matches what a kernel prints when something in it went wrong.
var complaint = regexp.MustCompile(`Kernel panic|Oops|BUG:|WARNING:|general protection fault|Internal error:|Unable to handle|Out of memory:`)

// expectedComplaint matches the one complaint that tests provoke: perf warns, once,
// about a payload above its buffer, which the size tests must try.
var expectedComplaint = regexp.MustCompile(`WARNING: .*perf_trace_buf_alloc`)

// startMark separates, in the console log, what the kernel said while it booted from what it
// said while the program ran.
const startMark = "userevents-vm: start"

// verdict prints the result of the guest and returns the exit status to end with.
func (e ending) verdict(kernel string, out io.Writer) error {
	var problems []string
	for line := range strings.Lines(e.console) {
		if complaint.MatchString(line) && !expectedComplaint.MatchString(line) {
			problems = append(problems, strings.TrimSpace(line))
		}
	}
	if e.failure != "" {
		problems = append(problems, e.failure)
	}
	if len(problems) == 0 && e.status == 0 {
		return nil
	}
	console := e.console
	if len(problems) == 0 { // the kernel is hardly to blame
		_, console, _ = strings.Cut(console, startMark)
	}
	if console = strings.TrimSpace(console); console != "" {
		fmt.Fprintf(out, "# kernel %s: console log:\n%s\n# kernel %s: end of console log\n", kernel, console, kernel)
	}
	for _, p := range problems {
		fmt.Fprintf(out, "# kernel %s: FAIL: %s\n", kernel, p)
	}
	return exitStatus(max(e.status, 1))
}
