package cli

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/reader"
)

// TestMissingNamesLive: a misspelt name, for which records are read and none is shown, is said while the command runs, and at the end.
func TestMissingNamesLive(t *testing.T) {
	for _, args := range [][]string{{"watch", "myapp"}, {"record", "myapp", "-o", t.TempDir() + "/x.jsonl"}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) //nolint:forbidigo // in a synctest bubble
			defer cancel()
			f := newFeed()
			f.more = func(f *feed) {
				ev := record("one", reader.SeverityInfo)
				assert.False(t, f.o.Where.Match(&ev))
			}
			var errs syncbuffer.Buffer
			early, later := "", ""
			time.AfterFunc(3*time.Second, func() { early = errs.String() })  //nolint:forbidigo // in a synctest bubble
			time.AfterFunc(30*time.Second, func() { later = errs.String() }) //nolint:forbidigo // in a synctest bubble
			args := append([]string{"--tracefs", "testdata/tracefs"}, append(args, "-w", "trace == 3 or trace == 4 or rout == 3 or status == ok")...)
			assert.Equal(t, 0, run(ctx, f.env(t, io.Discard, &errs), args), &errs)
			synctest.Wait()
			const line = "! no record that was asked for trace has it: did you mean trace_flags, trace_id, trace_state?\n"
			const field = "! no record that was asked for rout has it: did you mean route?\n"
			assert.NotContains(t, early, "! no record")
			assert.Equal(t, 1, strings.Count(later, line), later)
			assert.Equal(t, 2, strings.Count(errs.String(), line), &errs)
			assert.Equal(t, 2, strings.Count(errs.String(), field), &errs)
		})
	}
}

// TestMissingNames: each name is said once, as the flag that stands for it, and one that records can have without suggestions.
func TestMissingNames(t *testing.T) {
	f := conditionFlags{where: []string{"levl == 1 or unit == x or unit == y or trace_id == 1a or level == info"}, level: "warn"}
	f.workloads.units = []string{"x"}
	where, err := f.condition()
	assert.NoError(t, err)
	ev := reader.Event{Kind: reader.KindOther}
	var errs strings.Builder
	m := missingNames{e: &env{err: &errs}, where: where, flags: &f, fields: []string{}}
	m.say()
	assert.Empty(t, errs.String(), "no record yet")
	where.Match(&ev)
	m.say()
	assert.Equal(t, "! no record has a unit: --unit\n", errs.String(), "of and, the first part decides")
	f.workloads.units = nil
	where, err = f.condition()
	assert.NoError(t, err)
	where.Match(&ev)
	errs.Reset()
	m.where = where
	m.say()
	assert.Equal(t, "! no record that was asked for levl has it: did you mean level?\n! no record that was asked for unit has it\n"+
		"! no record that was asked for trace_id has it\n! no record has a level: --level\n", errs.String())
	(&missingNames{}).say()
}
