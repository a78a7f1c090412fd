package cli

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
)

// lostSize is the approximate number of bytes of a ring that a record takes.
const lostSize = 128

// problemEvent and otherEvent match names of events of warnings and errors, and of those of lower levels.
var (
	problemEvent = regexp.MustCompile(`_(warn|error)$|_L[123]K[0-9a-f]+(G\w*)?$`)
	otherEvent   = regexp.MustCompile(`_(trace|debug|info)$|_L[45]K[0-9a-f]+(G\w*)?$`)
)

// addLost reports lost records by event: warnings and errors first, then the most.
func (n *notes) addLost() {
	names := slices.Collect(maps.Keys(n.lost))
	problem := map[string]int{}
	total, below := uint64(0), false
	for name, count := range n.lost {
		total += count
		if problemEvent.MatchString(name) {
			problem[name] = 1
		}
		below = below || otherEvent.MatchString(name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(problem[b]-problem[a], cmp.Compare(n.lost[b], n.lost[a]), strings.Compare(a, b))
	})
	var parts []string
	for i, name := range names {
		switch left := len(names) - i; {
		case i == 2 && left > 1:
			rest := uint64(0)
			for _, name := range names[i:] {
				rest += n.lost[name]
			}
			parts = append(parts, fmt.Sprintf("%s of %d more events", output.Count(rest), left))
		case i > 2:
		case name == "":
			parts = append(parts, output.Count(n.lost[name])+" of others")
		default:
			parts = append(parts, output.Count(n.lost[name])+" of "+name)
		}
	}
	parts[0] = strings.Replace(parts[0], " of ", " records of ", 1)
	if len(names) == 1 && names[0] == "" {
		parts[0] = output.Count(total) + " records"
	}
	what := parts[0]
	if last := len(parts) - 1; last > 0 {
		what = strings.Join(parts[:last], ", ") + " and " + parts[last]
	}
	n.add("! %s lost (ring full): %s", what, n.remedy(total, below && len(problem) > 0))
	n.lost = nil
}

// remedy says what helps against losses. beside is that records below warnings were lost beside warnings or errors.
func (n *notes) remedy(lost uint64, beside bool) string {
	most := output.MaxSize
	if n.memory {
		most = memoryRings
	}
	remedy := "select fewer records"
	if n.buffer < most {
		size := max(n.buffer, 512<<10)
		for want := min(max(4*size, size+int(min(lost, memoryRings)*lostSize)), most, max(4*size, memoryRings)); size < want; {
			size *= 2
		}
		remedy = fmt.Sprintf("--buffer %dM", min(size, most)>>20)
	}
	if beside {
		remedy += ", or --level warn"
	}
	return remedy
}

// memoryRings is the largest size of rings that programs take for their events in shared memory.
const memoryRings = 64 << 20
