package sloghandler_test

import (
	"cmp"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestMillion logs a million records, fewer in guests, from eight goroutines while a tracer reads the raw ring buffer: nothing
// is lost beyond what the kernel reports as overwritten, each goroutine's records are in
// order, and every field is what was logged.
func TestMillion(t *testing.T) {
	fs := kerneltest.Require(t)
	const writers = 8
	each := testscale.Count(125_000, 25_000)
	if testing.Short() {
		each = 5_000
	}
	h, name := onKernel(t)
	ev := name + "_info"
	i := kerneltest.NewInstance(t, fs, 160<<10) // holds nearly all of it, however slow the reader is
	i.Attach(ev)
	decoder, err := typed.NewDecoder(declarationOf(t, fs, ev), nil)
	require.NoError(t, err)

	started := time.Now()
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			log := slog.New(h).With("goroutine", g)
			for n := range each {
				log.LogAttrs(t.Context(), slog.LevelInfo, "counted", slog.Int("n", n), slog.String("text", textOf(g, n)), slog.Bool("even", n%2 == 0))
			}
		})
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()

	var seen [writers][]place
	take := func() (taken int) {
		for _, raw := range i.Records() {
			r, err := decoder.Decode(raw.Payload)
			require.NoError(t, err)
			g, n, problem := counted(r, started)
			if problem != "" {
				require.Fail(t, problem, "%v", r)
			}
			seen[g] = append(seen[g], place{raw.Time, n})
			taken++
		}
		return taken
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if take() == 0 && running {
			time.Sleep(time.Millisecond) //nolint:forbidigo // the poll interval
		}
	}
	for take() > 0 {
	}

	total := 0
	for g := range seen {
		total += len(seen[g])
		slices.SortStableFunc(seen[g], func(a, b place) int { return cmp.Compare(a.time, b.time) })
		assert.True(t, slices.IsSortedFunc(seen[g], func(a, b place) int { return cmp.Compare(a.n, b.n) }), "goroutine %d", g)
	}
	overwritten := i.Stats().Overrun
	t.Logf("%d records, %d overwritten in the ring buffer", total, overwritten)
	assert.Equal(t, writers*each, total+int(overwritten))
	s := h.Stats()[ev]
	assert.EqualValues(t, writers*each, s.Written)
	assert.Zero(t, s.Refused+s.Disabled+s.Truncated)
}

// place is where a record stands in its goroutine's sequence, and when it was written.
type place struct {
	time uint64
	n    int
}

// counted returns which record of which goroutine r is, or what is wrong with it. It is
// asked a million times in a translated guest, so it says nothing while all is well.
func counted(r typed.Record, started time.Time) (g, n int, problem string) {
	lookup := func(name string) typed.Value {
		v, found := r.Lookup(name)
		if !found {
			problem = "no " + name
		}
		return v
	}
	attributes := lookup("attributes").Text()
	fields := strings.FieldsFunc(attributes, func(c rune) bool { return c == ':' || c == ',' })
	if len(fields) < 4 {
		return 0, 0, "attributes"
	}
	g, _ = strconv.Atoi(fields[1])
	n, _ = strconv.Atoi(fields[3])
	ns := int64(lookup("time_unix_nano").Uint64())
	switch {
	case attributes != `{"goroutine":`+strconv.Itoa(g)+`,"n":`+strconv.Itoa(n)+`,"text":"`+textOf(g, n)+`","even":`+strconv.FormatBool(n%2 == 0)+`}`:
		return 0, 0, "attributes"
	case lookup("message").Text() != "counted":
		return 0, 0, "message"
	case ns < started.UnixNano() || ns > time.Now().UnixNano():
		return 0, 0, "time_unix_nano"
	}
	for _, number := range []string{"level", "truncated"} {
		if lookup(number).Uint64() != 0 {
			return 0, 0, number
		}
	}
	for _, text := range []string{"trace_id", "span_id", "source"} {
		if lookup(text).Text() != "" {
			return 0, 0, text
		}
	}
	return g, n, problem
}

// textOf makes records of many sizes.
func textOf(g, n int) string { return strings.Repeat("abcdefghij", (n*7+g)%13) }
