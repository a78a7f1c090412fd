package cli

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/record"
)

var mergeBegan = time.Date(2026, 11, 26, 22, 0, 0, 0, time.UTC)

// plannedRecord is a record of a file.
type plannedRecord struct {
	status uint32
	at     time.Duration // after mergeBegan
	file   int
}

func (p *plannedRecord) event() *record.Record {
	ev := newRecord("", 0)
	ev.Name, ev.Time, ev.Monotonic = "myapp_x", mergeBegan.Add(p.at), uint64(time.Hour+p.at)
	ev.SetFields([]record.Field{{Name: "status", Value: record.Uint64Value(uint64(p.status))}})
	ev.Raw = binary.NativeEndian.AppendUint32([]byte{7, 0, 0, 0}, p.status)
	return &ev
}

// writePlanned writes a file of JSON lines, or a perf.data, complete or of a killed program.
func writePlanned(t *testing.T, path string, killed bool, records []plannedRecord) {
	t.Helper()
	var content bytes.Buffer
	if strings.HasSuffix(path, ".jsonl") {
		w, err := output.New("json", &content, output.Options{})
		require.NoError(t, err)
		for i := range records {
			require.NoError(t, w.Write(records[i].event()))
		}
		require.NoError(t, w.Close())
	} else {
		var r perfData
		for i := range records {
			r.add(records[i].event())
		}
		if killed {
			content.Write(r.stream())
		} else {
			content.Write(r.file())
		}
	}
	require.NoError(t, os.WriteFile(path, content.Bytes(), 0o600))
}

// statuses returns the records as replay shows them with -o {{.status}}.
func statuses(records []plannedRecord) string {
	var b strings.Builder
	for _, r := range records {
		fmt.Fprintln(&b, r.status)
	}
	return b.String()
}

// TestReplayMerged: the records of random files, with and without limits of the time, are those of the plan, in order of time, and for
// equal times in the order of the files.
func TestReplayMerged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range testscale.Count(60, 10) {
		dir := t.TempDir()
		var paths []string
		var all []plannedRecord
		for file := range 1 + random.IntN(8) {
			// Of a rotation, files follow each other; others overlap.
			from, span := time.Duration(random.IntN(4)*file*50), 1+random.IntN(100)
			var records []plannedRecord
			for range random.IntN(60) {
				at := (from + time.Duration(random.IntN(span))) * time.Second
				records = append(records, plannedRecord{file: file, at: at})
			}
			slices.SortFunc(records, func(a, b plannedRecord) int { return cmp.Compare(a.at, b.at) })
			for i := range records {
				records[i].status = uint32(1000*file + i)
			}
			path := filepath.Join(dir, fmt.Sprintf("%d.%s", file, []string{"jsonl", "perf.data"}[random.IntN(2)]))
			if len(records) > 0 || strings.HasSuffix(path, ".jsonl") {
				writePlanned(t, path, random.IntN(2) == 0, records)
				paths = append(paths, path)
			}
			all = append(all, records...)
		}
		if len(paths) == 0 {
			continue
		}
		slices.SortStableFunc(all, func(a, b plannedRecord) int { return cmp.Compare(a.at, b.at) }) // they are in the order of the files
		replay := func(want []plannedRecord, flags ...string) {
			t.Helper()
			code, out, errs := (&feed{}).run(t, append(append([]string{"replay", "-o", "{{.status}}"}, flags...), paths...)...)
			require.Equal(t, exitOK, code, errs)
			require.Equal(t, statuses(want), out, "%v %v", flags, paths)
		}
		replay(all)
		n := 1 + random.IntN(20)
		replay(all[:min(n, len(all))], "-n", fmt.Sprint(n))
		for range 3 {
			since := time.Duration(random.IntN(400)-20) * time.Second
			until := since + time.Duration(1+random.IntN(300))*time.Second
			text := func(d time.Duration) string { return mergeBegan.Add(d).Format(time.RFC3339) }
			from := slices.DeleteFunc(slices.Clone(all), func(r plannedRecord) bool { return r.at < since })
			before := func(list []plannedRecord) []plannedRecord {
				return slices.DeleteFunc(slices.Clone(list), func(r plannedRecord) bool { return r.at >= until })
			}
			replay(from, "--since", text(since))
			replay(before(all), "--until", text(until))
			replay(before(from), "--since", text(since), "--until", text(until))
		}
	}
}

// TestReplayLate: a late record of a file comes after those before it in the file, and --until leaves out none that come after later ones.
func TestReplayLate(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")
	writePlanned(t, a, false, []plannedRecord{{1, 10 * time.Second, 0}, {2, 30 * time.Second, 0}, {3, 5 * time.Second, 0}, {4, 31 * time.Second, 0}})
	writePlanned(t, b, false, []plannedRecord{{11, 10 * time.Second, 1}, {12, 30 * time.Second, 1}, {13, 40 * time.Second, 1}})
	for want, flags := range map[string][]string{
		"1 11 2 3 12 4 13": nil, "1 3 11": {"--until", mergeBegan.Add(30 * time.Second).Format(time.RFC3339)},
	} {
		code, out, errs := (&feed{}).run(t, append([]string{"replay", a, b, "-o", "{{.status}}"}, flags...)...)
		assert.Equal(t, exitOK, code, errs)
		assert.Equal(t, want, strings.Join(strings.Fields(out), " "))
	}
}

// TestReplaySeveralDamaged: a file that is damaged takes nothing away from the others, and errors and notes name it.
func TestReplaySeveralDamaged(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	writePlanned(t, name("a.jsonl"), false, []plannedRecord{{1, 1, 0}, {2, 4, 0}})
	writePlanned(t, name("b.perf.data"), true, []plannedRecord{{3, 2, 0}, {4, 5, 0}})
	writePlanned(t, name("c.jsonl"), false, []plannedRecord{{5, 3, 0}, {6, 6, 0}})
	cut := func(s string, n int) {
		content, err := os.ReadFile(name(s))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name(s), content[:len(content)-n], 0o600))
	}
	cut("b.perf.data", 1)
	cut("c.jsonl", 1)
	require.NoError(t, os.WriteFile(name("empty.perf.data"), nil, 0o600)) // of a recording that was killed while it began a file
	code, out, errs := (&feed{}).run(t, "replay", name("a.jsonl"), name("b.perf.data"), name("c.jsonl"), name("empty.perf.data"), "-o", "{{.status}}")
	assert.Equal(t, exitError, code)
	assert.Equal(t, "1\n3\n5\n2\n", out)
	assert.Contains(t, errs, "uevents: "+name("b.perf.data")+": the recording ends in the middle of a record, ")
	code, out, errs = (&feed{}).run(t, "replay", name("a.jsonl"), name("c.jsonl"), "-o", "{{.status}}")
	assert.Equal(t, exitError, code)
	assert.Equal(t, "1\n5\n2\n", out)
	assert.Contains(t, errs, "uevents: 1 record could not be read, the first: "+name("c.jsonl")+": line 2: ")
	code, out, errs = (&feed{}).run(t, "replay", name("a.jsonl"), name("nosuch.jsonl"))
	assert.Equal(t, exitError, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "open "+name("nosuch.jsonl")+": no such file")
}

// TestReplayMergedStream: what can be read once is merged with files, too.
func TestReplayMergedStream(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.perf.data")
	writePlanned(t, a, false, []plannedRecord{{1, 1, 0}, {2, 4, 0}})
	writePlanned(t, b, true, []plannedRecord{{3, 2, 0}, {4, 5, 0}})
	for in, want := range map[string]string{a: "1 3 2 4", b: "1 3 2 4"} {
		content, err := os.ReadFile(in)
		require.NoError(t, err)
		var out, errs syncbuffer.Buffer
		e := (&feed{}).env(t, &out, &errs)
		e.in = bytes.NewReader(content)
		other := a
		if in == a {
			other = b
		}
		require.Equal(t, exitOK, run(t.Context(), e, []string{"replay", "-", other, "-o", "{{.status}}"}), &errs)
		assert.Equal(t, want, strings.Join(strings.Fields(out.String()), " "))
	}
}

// TestReplayRangeSays: if no record is selected by its time, replay says which times there are.
func TestReplayRangeSays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	writePlanned(t, path, false, []plannedRecord{{1, time.Second, 0}, {2, 4 * time.Second, 0}})
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(content, `{"message":"no time","kind":"log"}`+"\n"...), 0o600))
	day := func(after int) string { return mergeBegan.Local().AddDate(0, 0, after).Format(time.DateOnly) }
	code, out, said := (&feed{}).run(t, "replay", path, "--since", day(1))
	assert.Equal(t, exitOK, code)
	assert.Empty(t, out)
	text := func(d time.Duration) string { return mergeBegan.Add(d).Local().Format("2006-01-02 15:04:05.000") }
	assert.Equal(t, "0 of 3 records selected\n! 1 record without a time, which --since and --until leave out\n! no record is from "+day(1)+" 00:00:00.000 on: they are from "+
		text(time.Second)+" to "+text(4*time.Second)+"\n", said)
	_, out, said = (&feed{}).run(t, "replay", path, "--since", day(0), "-o", "{{.status}}", "--where", "status > 1")
	assert.Equal(t, "2\n", out)
	assert.Equal(t, "1 of 3 records selected\n! 1 record without a time, which --since and --until leave out\n", said)
}

// TestReplayRangeWithoutWallTime: a recording without the time of day is an error, whether it is alone or not.
func TestReplayRangeWithoutWallTime(t *testing.T) {
	dir := t.TempDir()
	whole, cut := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.perf.data")
	writePlanned(t, whole, false, []plannedRecord{{1, 1, 0}})
	writePlanned(t, cut, true, []plannedRecord{{3, 2, 0}})
	content, err := os.ReadFile(cut)
	require.NoError(t, err)
	// The feature with the time of day: its number, a version and a clock.
	clock := bytes.Index(content, binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, 29), 1<<32|1))
	require.Positive(t, clock)
	binary.NativeEndian.PutUint64(content[clock:], 30)
	require.NoError(t, os.WriteFile(cut, content, 0o600))
	for _, paths := range [][]string{{cut}, {whole, cut}, {cut, whole}} {
		code, _, errs := (&feed{}).run(t, append([]string{"replay", "--since", "1d"}, paths...)...)
		assert.Equal(t, exitError, code)
		assert.Contains(t, errs, "uevents: "+cut+": --since and --until need the time of day, which this recording does not have")
		code, _, errs = (&feed{}).run(t, append([]string{"replay"}, paths...)...)
		assert.Equal(t, exitOK, code)
		if len(paths) == 1 {
			assert.Contains(t, errs, "! the recording does not have the time of day: times begin in 1970")
		} else {
			assert.Contains(t, errs, "! "+cut+" does not have the time of day: times begin in 1970")
		}
	}
}

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
		ev := newRecord(fmt.Sprintf("record-%d", i), record.SeverityInfo)
		ev.SetFields([]record.Field{{Name: "f", Value: record.Float64Value(0.5)}, {Name: "l", Value: record.ListValue([]record.Field{{}})}})
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
	var r perfData
	for i := range uint32(5) {
		ev := newRecord("", 0)
		ev.Monotonic, ev.Raw = uint64(1000+i), binary.NativeEndian.AppendUint32([]byte{7, 0, 0, 0}, 1000+i)
		r.add(&ev)
		d.shown = append(d.shown, fmt.Sprint(1000+i))
	}
	if d.whole = r.file(); killed {
		d.whole = r.stream()
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
