package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/jsonlines"
	"github.com/userevents/userevents-go/cmd/uevents/internal/otlpfile"
	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader"
)

// replayer shows or writes the records of files.
type replayer struct {
	e     *env
	from  *merged
	to    output.Writer
	out   *bufio.Writer
	file  *recording // nil if records are shown
	times timeRange
	where *reader.Condition
	names missingNames
	grep  *grep
	limit uint64

	unseen      output.Unseen
	interrupted bool
	read        uint64 // records of the files
	unselected  uint64 // by conditions on each alone
	unmatched   uint64 // excluded by grep
	stacks      uint64 // records that have one
	counted     contents
	malformed   uint64
	undecodable uint64
	lost        uint64
	firstErr    error // about a record
}

// open opens the destination.
func (r *replayer) open(ctx context.Context, f *replayFlags, table *symbols.Table) error {
	if f.to != "" {
		file, err := createRecording(ctx, f.to, &recordingOptions{format: f.as, weight: f.weight, stack: table})
		if err != nil {
			return err
		}
		r.file, r.to = file, file
		return nil
	}
	var err error
	r.to, err = f.writer(r.e, r.out, nil)
	return err
}

// run reads all records.
func (r *replayer) run(ctx context.Context) error {
	var ev reader.Event
	for ctx.Err() == nil {
		err := r.from.Next(&ev)
		switch {
		case errors.Is(err, io.EOF), ctx.Err() != nil:
			return nil
		case errors.Is(err, jsonlines.ErrFormat), errors.Is(err, reader.ErrMalformed):
			if r.malformed++; r.firstErr == nil {
				r.firstErr = err
			}
			continue
		case err != nil:
			return err
		}
		r.read++
		if ev.Undecodable {
			r.undecodable++
		}
		if !r.times.selects(ev.Time) || r.where != nil && !r.where.Match(&ev) {
			r.unselected++
			continue
		}
		if buffer := r.names.tail; buffer != nil {
			err = buffer.Pass(&ev, r.event)
		} else {
			err = r.event(&ev)
		}
		if err != nil {
			return err
		}
		if r.limit > 0 && r.counted.records == r.limit {
			return nil
		}
	}
	return nil
}

// event shows or writes a record.
func (r *replayer) event(ev *reader.Event) error {
	if !r.grep.matches(ev) {
		r.unmatched++
		return nil
	}
	if r.limit > 0 && r.counted.records == r.limit {
		return nil
	}
	if err := r.to.Write(ev); err != nil {
		return err
	}
	if len(ev.Callchain) > 0 {
		r.stacks++
	}
	r.unseen.See(ev)
	r.counted.add(ev)
	return nil
}

// unwanted counts a record, whose time is known before its other parts, if that is not selected.
func (r *replayer) unwanted(at time.Time) bool {
	if r.times.selects(at) {
		return false
	}
	r.read++
	r.unselected++
	return true
}

// noteLost counts lost records, which not every output shows.
func (r *replayer) noteLost(name string, n uint64, at time.Time) error {
	if !at.IsZero() && !r.times.has(at) {
		return nil
	}
	r.lost += n
	return r.to.Lost(name, n, at)
}

// sayMissing says what of a recording is not shown.
func (r *replayer) sayMissing() {
	if r.lost > 0 {
		r.e.say("! %s records were lost when it was recorded", output.Count(r.lost))
	}
	if r.undecodable > 0 {
		r.e.say("! %s records were not as their event's format says: they have no fields", output.Count(r.undecodable))
	}
	r.from.sayMissing(r.e, r.counted.records > 0)
}

// saySelected says how many records the conditions select, and which names none has. Up to --count, the rest is not known.
func (r *replayer) saySelected() {
	switch selected := r.counted.records; {
	case r.read == 0 && r.malformed == 0:
		r.e.say("no records")
	case selected < r.read && (r.limit == 0 || selected < r.limit):
		line := output.Count(selected) + " of " + output.Plural(r.read, "record") + " selected"
		if r.names.tail != nil { // else it is clear what became of the others
			var others []string
			for _, c := range append(heldBack(r.names.tail), count{r.unmatched, "without a match for --grep"}, count{r.unselected, "not selected for --when"}) {
				if c.n > 0 {
					others = append(others, output.Count(c.n)+" "+c.what)
				}
			}
			line += ": " + strings.Join(others, " + ")
		}
		r.e.say("%s", line)
	}
	if r.interrupted {
		r.e.say("! interrupted: the rest was not read")
	}
	r.names.say()
	r.times.say(r.e)
}

// close writes what is left, and says what was written to a file.
func (r *replayer) close() error {
	err := r.to.Close()
	if r.file == nil {
		err = errors.Join(err, r.out.Flush())
		r.e.sayUnseen(r.unseen, r.counted.records)
		r.saySelected()
		return err
	}
	r.saySelected()
	if r.file.format.stack && r.stacks == 0 {
		r.e.say("! no record has a stack: the recording was made without --stack (perf record: -g)")
	}
	if w, ok := r.file.Writer.(*otlpfile.Writer); ok {
		sayOTLP(r.e, w.Stats())
	}
	r.e.say("%s", r.file.wrote(r.counted.text()))
	return err
}
