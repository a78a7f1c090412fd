package main

import (
	"regexp"
	"strings"
)

// complaint matches what a kernel prints when something in it went wrong.
var complaint = regexp.MustCompile(`Kernel panic|Oops|BUG:|WARNING:|general protection fault|Out of memory:`)

// expectedComplaint matches the one complaint that tests provoke: perf warns, once,
// about a payload above its buffer, which the size tests must try.
var expectedComplaint = regexp.MustCompile(`WARNING: .*perf_trace_buf_alloc`)

// complaints returns the lines of a console log in which the kernel says that
// something in it went wrong.
func complaints(console string) []string {
	var found []string
	for line := range strings.Lines(console) {
		if complaint.MatchString(line) && !expectedComplaint.MatchString(line) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// afterStart returns what the kernel printed while tests ran.
func afterStart(console string) string {
	_, after, _ := strings.Cut(console, startMark)
	return strings.TrimSpace(after)
}
