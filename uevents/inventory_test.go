package uevents_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// inventory is what a process holds of the system.
type inventory struct{ descriptors, mappings, goroutines int }

// Once used, the library keeps for the life of the process: a pipe end that takes the place
// of closed descriptors, the goroutine that registers, the pages of enable words, and the
// status page of old kernels.
const (
	keptDescriptors = 1
	keptGoroutines  = 1
	keptMappings    = 1
)

func takeInventory() inventory {
	return inventory{
		descriptors: entries("/proc/self/fd"),
		mappings:    lines("/proc/self/maps", "user_events_status"),
		goroutines:  runtime.NumGoroutine(),
	}
}

// leak describes what there is more of than in the inventory, after what is unreachable was
// collected.
func (before inventory) leak() string {
	var now inventory
	for range 100 {
		runtime.GC() // runs the cleanups that close descriptors
		time.Sleep(10 * time.Millisecond)
		now = takeInventory()
		if now.descriptors <= before.descriptors+keptDescriptors && now.goroutines <= before.goroutines+keptGoroutines &&
			now.mappings <= before.mappings+keptMappings {
			return ""
		}
	}
	return fmt.Sprintf("%+v before, %+v after\n%s", before, now, stacks())
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

func entries(dir string) int {
	list, _ := os.ReadDir(dir) // not on every system
	return len(list)
}

func lines(file, containing string) int {
	b, _ := os.ReadFile(file) // not on every system
	return strings.Count(string(b), containing)
}
