package soak

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/words"
)

// holdings is what the process has of the machine while writers and reader run.
type holdings struct {
	words, descriptors, threads, mappings int
	goroutines                            int
	heap, resident                        int // KiB
	events                                int // of the kernel, where it removes those that are not used
}

func (h holdings) String() string {
	return fmt.Sprintf("%d words, %d descriptors, %d threads, %d goroutines, %d mappings, heap %d KiB, resident %d KiB, %d events of the kernel",
		h.words, h.descriptors, h.threads, h.goroutines, h.mappings, h.heap, h.resident, h.events)
}

// hold returns the holdings between two faults.
func (s *soak) hold() holdings {
	h := hold(s.t)
	st, err := s.fs.Status()
	require.NoError(s.t, err)
	if st.Max == 0 { // kernels before 6.4 keep each event
		h.events = st.Active
	}
	return h
}

// hold returns the holdings of this process.
func hold(t *testing.T) holdings {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h := holdingsOf(t, os.Getpid())
	h.heap = int(m.HeapAlloc >> 10)
	h.words, _ = words.Usage()
	h.goroutines = runtime.NumGoroutine()
	return h
}

// holdingsOf returns what the kernel knows of a process.
func holdingsOf(t *testing.T, pid int) (h holdings) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	list, err := os.ReadDir(dir + "fd")
	require.NoError(t, err)
	h.descriptors = len(list)
	maps, err := os.ReadFile(dir + "maps")
	require.NoError(t, err)
	h.mappings = strings.Count(string(maps), "\n")
	status, err := os.ReadFile(dir + "status")
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		n, _ := strconv.Atoi(words[1]) // other lines have no numbers
		switch words[0] {
		case "Threads:":
			h.threads = n
		case "VmRSS:":
			h.resident = n
		}
	}
	return h
}

// grown returns what is held more of than at the beginning. Words and descriptors are exact but for what a descriptor of the
// runtime takes; Go starts threads as it needs them and gives memory back late, and the kernel removes events in the background.
func (h holdings) grown(first holdings) (list []string) {
	for _, c := range []struct {
		what      string
		now, most int
	}{
		{"words", h.words, first.words},
		{"descriptors", h.descriptors, first.descriptors + 1},
		{"threads", h.threads, first.threads + 8},
		{"goroutines", h.goroutines, first.goroutines + 2},
		{"mappings", h.mappings, first.mappings + 16},
		{"heap", h.heap, first.heap + first.heap/4 + 2<<10},
		{"resident memory", h.resident, first.resident + first.resident/4 + 16<<10},
		{"events", h.events, first.events + 4},
	} {
		if c.now > c.most {
			list = append(list, fmt.Sprintf("%s: %d, at most %d", c.what, c.now, c.most))
		}
	}
	return list
}
