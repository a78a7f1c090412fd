package cli

import (
	"cmp"
	"fmt"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/perfdata"
)

// missingParts is what the files of a replay lack.
type missingParts struct {
	skipped   uint64      // records
	noWall    unlikeFiles // files without the time of day
	otherTime unlikeFiles // files of another clock than CLOCK_MONOTONIC
}

// unlikeFiles counts files.
type unlikeFiles struct {
	n     int
	first string
}

func (u *unlikeFiles) add(path string) {
	u.n++
	u.first = cmp.Or(u.first, path)
}

// text says which files these are.
func (u *unlikeFiles) text(one bool) string {
	switch {
	case one:
		return "the recording does"
	case u.n == 1:
		return u.first + " does"
	}
	return fmt.Sprintf("%s and %s do", u.first, output.Plural(u.n-1, "more file"))
}

// add adds what a file lacks, as far as it was read.
func (p *missingParts) add(f *mergedFile) {
	from, ok := f.in.recorded.(*perfdata.Reader)
	if !ok {
		return
	}
	p.skipped += from.Skipped()
	switch clock := from.Clock(); {
	case !clock.WallTime:
		p.noWall.add(f.path)
	case !clock.Monotonic:
		p.otherTime.add(f.path)
	}
}

// checkClock returns an error if the time of day is necessary, and a file does not have it.
func (m *merged) checkClock(in recordedInput, path string) error {
	if p, ok := in.recorded.(*perfdata.Reader); ok && m.wall && !p.Clock().WallTime {
		return fmt.Errorf("%s: --since and --until need the time of day, which this recording does not have (perf record -k mono keeps it)", path)
	}
	return nil
}

// sayMissing says what the records lack. The files must be closed.
func (m *merged) sayMissing(e *env, shown bool) {
	if m.missing.skipped > 0 {
		e.say("! %s records of events that are no tracepoints are not shown", output.Count(m.missing.skipped))
	}
	if m.missing.noWall.n > 0 && shown { // else there are no times
		e.say("! %s not have the time of day: times begin in 1970 (perf record -k mono keeps it)", m.missing.noWall.text(m.one))
	}
	if m.missing.otherTime.n > 0 && shown {
		e.say("! times of --time mono and monotonic_ns are not of CLOCK_MONOTONIC, but of the clock of the recording")
	}
}
