package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// ending is how a program in a guest came to its end.
type ending struct {
	status  int    // of the program
	failure string // why there is no proper status
	console string // what the kernel printed meanwhile
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

// explain prints what the kernel printed, if anything went wrong.
func (e ending) explain(kernel string, out io.Writer) {
	problems := e.problems()
	if len(problems) == 0 && e.status == 0 {
		return
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
}
