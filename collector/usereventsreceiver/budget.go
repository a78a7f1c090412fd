package usereventsreceiver

import (
	"math"
	"runtime"

	"github.com/userevents/userevents-go/internal/perf"
)

// budget is the memory that follows from Config.BudgetMiB, in bytes: an eighth is for the rings of the kernel, an eighth for the queue, and
// the rest for the programs in shared memory.
type budget struct {
	ring     int // each ring of the kernel, and at most the rings of each program
	queue    int
	programs int // the rings of all programs
}

const (
	// mostBudget is the largest BudgetMiB: more is a mistake, such as KiB. The number of bytes is an int.
	mostBudget = min(64<<10, math.MaxInt>>20)
	// ringSets is how many rings a processor has: of errors, of events that were above their share, and of all others.
	ringSets = 3
	// Limits of the size of a ring, which is a power of two.
	leastRing, mostRing = 16 << 10, 1 << 20
	// programCopies is the memory that a program takes, in units of its rings: these, and copies of records, while it or another program
	// is stopped in the middle of a record.
	programCopies = 7
)

// budget returns the parts for a number of processors.
func (c *Config) budget(processors int) budget {
	all := c.BudgetMiB << 20
	b := budget{ring: mostRing, queue: all / 8, programs: all / 4 * 3 / programCopies}
	for b.ring > leastRing && ringSets*processors*b.ring > all/8 {
		b.ring /= 2
	}
	return b
}

// processors returns how many processors have rings.
func processors() int {
	if n, err := perf.CPUs(); err == nil {
		return n
	}
	return runtime.NumCPU() // where the kernel's events cannot be read either
}
