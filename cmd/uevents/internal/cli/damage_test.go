package cli

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/perfdata/perfdatatest"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
)

var everyDamage = flag.Bool("every-damage", false, "damage recordings at every byte and bit, not at some")

// damaged is a recording whose records are told apart by what replay shows of them.
type damaged struct {
	t     *testing.T
	name  string
	whole []byte
	begin int   // position of the first record
	ends  []int // positions after the records
	shown []string
}

// replay shows a recording. It fails if that takes much memory.
func (d *damaged) replay(content []byte) (code int, shown []string, errs string) {
	d.t.Helper()
	path := filepath.Join(d.t.TempDir(), d.name)
	require.NoError(d.t, os.WriteFile(path, content, 0o600))
	var out, said syncbuffer.Buffer
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	code = run(d.t.Context(), (&feed{}).env(d.t, &out, &said), []string{"replay", path, "-o", "{{.message}}{{.status}}"})
	runtime.ReadMemStats(&after)
	require.Less(d.t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
	require.Contains(d.t, []int{exitOK, exitError}, code, said.String())
	require.Equal(d.t, code == exitError, strings.Contains(said.String(), "uevents: "), said.String())
	for line := range strings.Lines(out.String()) {
		shown = append(shown, strings.TrimSuffix(line, "\n"))
	}
	return code, shown, said.String()
}

// some returns numbers below n, of which the first and the last ones are some.
func some(n, step int) (list []int) {
	if *everyDamage {
		step = 1
	}
	step = testscale.Count(step, 7*step)
	for i := range n {
		if i%step == 0 || i < 4 || i >= n-4 {
			list = append(list, i)
		}
	}
	return list
}

// damagedLines is a recording of JSON lines.
func damagedLines(t *testing.T) *damaged {
	d := &damaged{t: t, name: "x.jsonl"}
	path := filepath.Join(t.TempDir(), d.name)
	f := newFeed()
	for i := range 5 {
		ev := record(fmt.Sprintf("record-%d", i), reader.SeverityInfo)
		ev.Fields = []reader.Field{{Name: "f", Value: reader.Float64Value(0.5)}, {Name: "l", Value: reader.ListValue([]reader.Field{{}})}}
		f.events = append(f.events, ev)
		d.shown = append(d.shown, ev.Message)
	}
	code, _, errs := f.run(t, "record", "a", "-o", path)
	require.Equal(t, exitOK, code, errs)
	var err error
	d.whole, err = os.ReadFile(path)
	require.NoError(t, err)
	for i, c := range d.whole {
		if c == '\n' {
			d.ends = append(d.ends, i+1)
		}
	}
	return d
}

// damagedPerfData is a recording of perf.data, of a program that was killed, or of one that completed the file.
func damagedPerfData(t *testing.T, killed bool) *damaged {
	d := &damaged{t: t, name: "x.perf.data"}
	var r perfdatatest.Recording
	id := r.Event("user_events", statusEvent)
	for i := range uint32(5) {
		ev := record("", 0)
		ev.Monotonic, ev.Raw = uint64(1000+i), binary.NativeEndian.AppendUint32([]byte{7, 0, 0, 0}, 1000+i)
		r.Add(id, &ev)
		d.shown = append(d.shown, fmt.Sprint(1000+i))
	}
	if d.whole = r.File(); killed {
		d.whole = r.Stream()
	}
	for i := range uint32(5) {
		raw := bytes.Index(d.whole, binary.NativeEndian.AppendUint32([]byte{7, 0, 0, 0}, 1000+i))
		require.Positive(t, raw)
		d.ends = append(d.ends, raw+12) // 4 bytes of the size, the record's 8 bytes and 4 zeros
	}
	d.begin = d.ends[0] - (d.ends[1] - d.ends[0])
	return d
}

// TestReplayCut: of a recording that ends too early, the whole records are shown, and where it ends is said.
func TestReplayCut(t *testing.T) {
	d := damagedLines(t)
	code, shown, errs := d.replay(d.whole)
	require.Equal(t, exitOK, code, errs)
	require.Equal(t, d.shown, shown)
	for _, n := range some(len(d.whole), 19) {
		whole := 0
		for whole < len(d.ends) && d.ends[whole] <= n {
			whole++
		}
		code, shown, errs := d.replay(d.whole[:n])
		require.Equal(t, d.shown[:whole], append([]string{}, shown...), "%d bytes: %s", n, errs)
		if n == 0 || slices.Contains(d.ends, n) {
			require.Equal(t, exitOK, code, errs)
			continue
		}
		require.Equal(t, exitError, code, "%d bytes", n)
		require.Contains(t, errs, fmt.Sprintf("line %d: ", whole+1))
	}

	// The end of a complete perf.data says what its records are.
	d = damagedPerfData(t, false)
	code, shown, errs = d.replay(d.whole)
	require.Equal(t, exitOK, code, errs)
	require.Equal(t, d.shown, shown)
	for _, n := range some(len(d.whole), 19) {
		code, shown, errs := d.replay(d.whole[:n])
		require.Equal(t, exitError, code, "%d bytes: %s", n, errs)
		require.Empty(t, shown)
		require.Regexp(t, "x.perf.data: no perf.data file that can be read: (reading the header|reading [0-9]+ bytes at [0-9]+): ", errs)
	}
	d = damagedPerfData(t, true)
	for _, n := range some(len(d.whole)+1, 19) {
		whole := 0
		for whole < len(d.ends) && d.ends[whole] <= n {
			whole++
		}
		code, shown, errs := d.replay(d.whole[:n])
		require.Equal(t, d.shown[:whole], append([]string{}, shown...), "%d bytes: %s", n, errs)
		switch {
		case n < 16:
			require.Contains(t, errs, "no perf.data file that can be read: reading the header: ")
		case slices.Contains(d.ends, n):
			require.Equal(t, exitOK, code, errs)
		case n > d.begin:
			require.Equal(t, exitError, code, "%d bytes", n)
			require.Regexp(t, `x.perf.data: the recording ends in the middle of a record, which begins at byte [0-9]+\n  -> all records before it are there`, errs)
		}
	}
}

// TestReplayFlippedBit: of a recording with a wrong bit, the records before are shown.
func TestReplayFlippedBit(t *testing.T) {
	for _, d := range []*damaged{damagedLines(t), damagedPerfData(t, false), damagedPerfData(t, true)} {
		for _, bit := range some(8*len(d.whole), 101) {
			content := bytes.Clone(d.whole)
			content[bit/8] ^= 1 << (bit % 8)
			_, shown, errs := d.replay(content)
			at := bit / 8
			if d.name == "x.perf.data" && (at < d.begin || at >= d.ends[len(d.ends)-1]) { // what says where the records are, and what
				require.True(t, len(shown) > 0 || errs != "", "bit %d: nothing is shown, and nothing is said", bit)
				continue
			}
			for i, want := range d.shown {
				if d.ends[i] <= at {
					require.Contains(t, shown, want, "bit %d of byte %d: %s", bit%8, at, errs)
				}
			}
			if d.name == "x.jsonl" { // those behind the line, and the one that may have become a part of it
				for i, want := range d.shown {
					if i > 0 && d.ends[i-1] > at && content[d.ends[i-1]-1] == '\n' {
						require.Contains(t, shown, want, "bit %d of byte %d: %s", bit%8, at, errs)
					}
				}
			}
		}
	}
}
