// Package leakcheck fails a test binary whose tests leave something behind: an enable word, a
// descriptor, a mapping, a thread or a goroutine.
package leakcheck

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Main runs the tests and exits. It is called by TestMain:
//
//	func TestMain(m *testing.M) { leakcheck.Main(m) }
func Main(m interface{ Run() int }) { os.Exit(Run(m)) }

// Run runs the tests and returns their exit code, or 1 if they pass and leave something
// behind, which it prints.
func Run(m interface{ Run() int }) int {
	openPoller()
	before := take()
	code := m.Run()
	if code != 0 {
		return code
	}
	if left := wait(before); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "leakcheck: the tests leave behind:\n\t%s\n", strings.Join(left, "\n\t"))
		return 1
	}
	return 0
}

// openPoller makes the runtime open what it keeps for the life of the process.
func openPoller() {
	if r, w, err := os.Pipe(); err == nil {
		_, _ = r.Close(), w.Close() // they are of no use
	}
}

// attempts is how often Run looks whether goroutines have ended and cleanups have run: two minutes, as a guest ends what prints
// nothing for five.
var attempts = 1250

// wait returns what is left beside before, after what is unreachable was collected.
func wait(before inventory) (left []string) {
	for n := range attempts {
		if left = take().beside(before); len(left) == 0 {
			break
		}
		runtime.GC()                                              // runs the cleanups of forgotten providers and files
		time.Sleep(time.Duration(min(n, 100)) * time.Millisecond) //nolint:forbidigo // the poll interval
	}
	return left
}

// inventory is what a process has, by kind and identity, with a number of each.
type inventory map[string]int

// beside returns what there is more of than before, in the order of the text.
func (now inventory) beside(before inventory) (list []string) {
	for what, n := range now {
		if n > before[what]+kept(what) {
			list = append(list, fmt.Sprintf("%d %s", n-before[what], what))
		}
	}
	slices.Sort(list)
	return list
}

// kept returns how many the library or Go keeps, once used, for the life of the process.
func kept(what string) int {
	switch {
	case strings.HasPrefix(what, "mapping of ") && strings.HasSuffix(what, "/user_events_status"): // one for all providers
		return 1
	case strings.Contains(what, "created by github.com/userevents/userevents-go/internal/abi.startRegistrar"): // the thread that registers
		return 1
	case strings.Contains(what, "os/signal.loop("): // as soon as a program asks for signals
		return 1
	}
	return 0
}

func take() inventory {
	i := inventory{}
	i.addGoroutines()
	i.addSystem()
	return i
}

// addGoroutines adds all goroutines but this one, by their stacks. One that is locked to its
// thread keeps the thread. Go itself keeps threads too, idle ones, as many as it needed at
// once.
func (now inventory) addGoroutines() {
	buf := make([]byte, 1<<16)
	n := runtime.Stack(buf, true)
	for n == len(buf) {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	stacks := strings.Split(strings.TrimSpace(string(buf[:n])), "\n\n")
	for _, stack := range stacks[1:] {
		kind := "goroutine"
		header, frames, _ := strings.Cut(stack, "\n")
		if strings.Contains(header, "locked to thread") {
			kind = "thread, locked by a goroutine"
		}
		// "goroutine 7 [select, 2 minutes]:": the number is its identity.
		id, _, _ := strings.Cut(header, " [")
		now[kind+" ("+id+"):\n"+frames]++
	}
}
