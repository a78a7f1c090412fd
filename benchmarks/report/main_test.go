package main

import (
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/benchmarks/internal/figures"
	"github.com/userevents/userevents-go/internal/testscale"
)

var (
	results = filepath.Join("..", "results")
	root    = filepath.Join("..", "..")
)

func read(t *testing.T, elem ...string) string {
	b, err := os.ReadFile(filepath.Join(elem...))
	require.NoError(t, err)
	return string(b)
}

func committed(t *testing.T) *runs {
	testscale.UsesCheckout()
	all, err := load(results)
	require.NoError(t, err)
	all.defaults, err = readDefaults(root)
	require.NoError(t, err)
	return all
}

// TestCommitted: the page, the plots and the tables are generated from the committed figures.
func TestCommitted(t *testing.T) {
	documents, err := readDocuments(root)
	require.NoError(t, err)
	files, err := render(committed(t), documents)
	require.NoError(t, err)
	assert.Len(t, files, 10)
	for name, want := range files {
		assert.Equal(t, want, read(t, root, name), "run go run ./report")
		if strings.HasSuffix(name, ".svg") {
			assertXML(t, want)
		}
	}
}

func assertXML(t *testing.T, text string) {
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if !assert.NoError(t, err) {
			return
		}
	}
}

// without returns the runs without the instructions of a benchmark.
func without(all *runs, name string) *runs {
	run := *all.counted
	run.Figures = maps.Clone(run.Figures)
	delete(run.Figures, name)
	return &runs{
		counted: &run, timed: all.timed, native: all.native, rate: all.rate, request: all.request,
		collector: all.collector, memory: all.memory, defaults: all.defaults,
	}
}

func TestRenderRefuses(t *testing.T) {
	all := committed(t)
	_, err := render(all, map[string]string{"README.md": "# a README without marks"})
	assert.ErrorContains(t, err, "README.md has no place for its table")
	marks := map[string]string{"README.md": tableBegin + tableEnd, filepath.Join("benchmarks", "targets.md"): tableBegin + tableEnd}
	for _, name := range []string{"Floor/load", "sloghandler:Kernel/json", "Register/events=100"} {
		_, err := render(without(all, name), marks)
		assert.ErrorContains(t, err, "no figure for "+name)
	}
	more := without(all, "")
	more.counted.Figures["On/new/five"] = figures.Figure{Cost: 1}
	_, err = render(more, marks)
	assert.ErrorContains(t, err, "no label for the contender new")

	more = without(all, "")
	more.collector = &figures.Run{}
	_, err = render(more, map[string]string{filepath.Join("docs", "collector.md"): tableBegin + tableEnd})
	assert.ErrorContains(t, err, "no figure for collector/distribution/internal/collectortest:Throughput/user_events")

	_, err = load(t.TempDir())
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// TestTargets: a target is reached or missed by its figure, and a reason is demanded of one that is missed.
func TestTargets(t *testing.T) {
	run := &figures.Run{Figures: map[string]figures.Figure{"ours": {Cost: 120, Allocs: 3}, "theirs": {Cost: 100, Allocs: 1}}}
	for _, c := range []struct {
		target    target
		want, err string
	}{
		{target: target{what: "a", figure: "ours", most: 120}, want: "| a | 120 | 120 | reached |"},
		{target: target{what: "a", figure: "ours", most: 120, why: "b"}, want: "| a | 120 | 120 | reached |"},
		{target: target{what: "a", figure: "ours", most: 119, why: `b {{n "theirs"}}`}, want: "| a | 119 | 120 | missed by 1.0: b 100 |"},
		{target: target{figure: "ours", most: 119, why: `{{n "none"}}`}, err: "no figure for none"},
		{target: target{what: "a", figure: "ours", most: 20, factor: 1, of: "theirs"}, want: "| a | 120 | 120 | reached |"},
		{target: target{what: "a", figure: "ours", most: 2, factor: 1, of: "theirs", allocations: true}, want: "| a | 3 | 3 | reached |"},
		{target: target{what: "a", figure: "ours", most: 1, factor: 1, of: "theirs", allocations: true, why: "b"}, want: "| a | 2 | 3 | missed by 1: b |"},
		{target: target{figure: "ours", most: 119}, err: "ours is 120, more than 119: say why"},
		{target: target{figure: "ours", factor: 1, of: "theirs", allocations: true}, err: "ours is 3, more than 1: say why"},
		{target: target{what: "a call", figure: "ours", first: 240}, want: "| a call: half of the first measurement, 240 | 120 | 120 | reached |"},
		{target: target{figure: "none"}, err: "no figure for none"},
		{target: target{figure: "ours", factor: 1, of: "none"}, err: "no figure for none"},
	} {
		got, err := targetTable(run, []target{c.target})
		if c.err != "" {
			assert.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
}

// TestRates: the read and the lost records are those that were written.
func TestRates(t *testing.T) {
	run := &figures.Run{Figures: map[string]figures.Figure{}}
	for _, c := range commands {
		run.Figures["cmd/uevents/internal/cli:FullRate/"+c.figure] = figures.Figure{
			Calls: 1_000_000, Cost: 5000, Others: map[string]float64{"lost-records": 200_000, "max-resident-bytes": 20 << 20},
		}
	}
	text, err := rates(run)
	require.NoError(t, err)
	assert.Contains(t, text, "| `uevents watch -o json` | 800,000 | 200,000 | 4.0 s | 5.0 us | 20 MiB |\n")
	_, err = rates(&figures.Run{})
	assert.ErrorContains(t, err, "no figure for cmd/uevents/internal/cli:FullRate/watch-json")
}

// TestSizing: what a Collector takes on a machine follows from the times of the guest and from how much slower than the machine that is.
func TestSizing(t *testing.T) {
	run := &figures.Run{Figures: map[string]figures.Figure{}}
	for name, f := range map[string]figures.Figure{
		"Throughput/user_events":   {Cost: 20_000, Others: map[string]float64{"max-resident-bytes": 200 << 20}},
		"Throughput/file_log-json": {Cost: 50_000},
		"Native/file_log-json":     {Cost: 5000},
		"Idle/user_events=100":     {Cost: 10_000_000, Others: map[string]float64{"resident-bytes": 50 << 20}},
		"Stall/rate=10000":         {Calls: 300_000, Others: map[string]float64{"lost-records": 100_000}},
	} {
		run.Figures[collectorPkg+name] = f
	}
	s, err := newSizing(run, defaults{budgetMiB: 64, batchKiB: 4096, spansMiB: 16})
	require.NoError(t, err)
	assert.Equal(t, "2.0 us", s.Estimate())
	assert.Equal(t, "500,000", s.EstimatedRate())
	ratio, err := s.Ratio("Throughput/file_log-json")
	require.NoError(t, err)
	assert.Equal(t, "2.5", ratio)
	percent, err := s.Percent("Idle/user_events=100")
	require.NoError(t, err)
	assert.Equal(t, "1.00 %", percent)
	rates, err := s.Rates()
	require.NoError(t, err)
	assert.Equal(t, "| 100 | 0.12 % | 2000 s |\n| 1,000 | 0.30 % | 200 s |\n| 10,000 | 2.10 % | 20 s |", rates)
	assert.Equal(t, "164 MiB", s.Bound(64))
	_, err = s.MiB("Idle/user_events=100", "max-resident-bytes")
	assert.ErrorContains(t, err, "no max-resident-bytes of Idle/user_events=100")
	_, err = newSizing(&figures.Run{}, defaults{})
	assert.ErrorContains(t, err, "no figure for "+collectorPkg)
	_, err = readDefaults(t.TempDir())
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// TestMemoryTable: a row has the ratio of the medians of rounds, and that of the least times; an incomplete run is refused.
func TestMemoryTable(t *testing.T) {
	all := committed(t)
	units := map[string]float64{}
	all.memory = &figures.Run{Figures: map[string]figures.Figure{"MemoryTime": {Calls: 7, Others: units}}}
	_, err := memoryTable(all)
	assert.ErrorContains(t, err, "no opaque-median-ns of MemoryTime")
	for _, r := range memoryRows {
		units[r.turn+"-median-ns"], units[r.turn+"-least-ns"] = 40, 30
		if r.lttng != "" {
			units[r.turn+"-low-ratio"], units[r.turn+"-median-ratio"], units[r.turn+"-high-ratio"] = 0.4, 0.5, 0.6
			units[r.lttng+"-median-ns"], units[r.lttng+"-least-ns"], units[r.lttng+"-instructions"] = 90, 40, 1000
		}
	}
	text, err := memoryTable(all)
	require.NoError(t, err)
	rows := strings.Split(text, "\n")
	require.Len(t, rows, len(memoryRows))
	assert.True(t, strings.HasSuffix(rows[0], "| 1,000 | 40 | 90 | 0.50 (0.40 to 0.60) | 0.75 |"), rows[0])
	assert.True(t, strings.HasSuffix(rows[len(rows)-1], "|  | 40 |  |  |  |"), rows[len(rows)-1])
	delete(units, "full-high-ratio")
	_, err = memoryTable(all)
	assert.ErrorContains(t, err, "no full-high-ratio of MemoryTime")
	all.memory = &figures.Run{}
	_, err = memoryTable(all)
	assert.ErrorContains(t, err, "no figure for MemoryTime")
	_, err = memoryTable(without(committed(t), "Memory/opaque/full"))
	assert.ErrorContains(t, err, "no figure for Memory/opaque/full")
}

// TestRequests: a column without a figure is empty.
func TestRequests(t *testing.T) {
	run := &figures.Run{Figures: map[string]figures.Figure{
		"Request/sloghandler/off": {Cost: 1000, Allocs: 2}, "Request/sloghandler/on": {Cost: 5}, "Request/slog-discard/error": {Cost: 7, Allocs: 1},
	}}
	text, err := requests(run)
	require.NoError(t, err)
	assert.Equal(t, "| `slog.DiscardHandler` |  |  | 7.0 (1) |\n| **`sloghandler`** | 1,000 (2) | 5.0 (0) |  |", text)
	_, err = requests(&figures.Run{})
	assert.ErrorContains(t, err, "no figure for Request")
}

// TestContenders: the cheapest comes first, and a column without a figure is empty, also in another run.
func TestContenders(t *testing.T) {
	run := &figures.Run{Figures: map[string]figures.Figure{
		"On/zap/none": {Cost: 5}, "On/zap/five": {Cost: 2000}, "On/zerolog/five": {Cost: 300.4}, "Off/zap/five": {Cost: 1},
	}}
	text, err := contenders(run, "On", []string{"none", "five"})
	require.NoError(t, err)
	assert.Equal(t, "| zerolog |  | 300 |\n| zap | 5.0 | 2,000 |", text)
	other := &figures.Run{Figures: map[string]figures.Figure{"On/zap/five": {Cost: 30, Allocs: 1}}}
	text, err = contenders(run, "On", []string{"none", "five"}, costs(other), allocs(other), ratios(other, 20))
	require.NoError(t, err)
	assert.Equal(t, "| zerolog |  | 300 |  |  |  |\n| zap | 5.0 | 2,000 | 30 | 1 | 1.50 |", text)
	_, err = contenders(run, "Parallel/on", []string{"goroutines=1"})
	assert.ErrorContains(t, err, "no figure for Parallel/on")
}

// TestPoints: the cost of an export is divided by the number of its points.
func TestPoints(t *testing.T) {
	run := &figures.Run{Figures: map[string]figures.Figure{
		"MetricOn/otlp/sum=100": {Cost: 500_000, Allocs: 150}, "MetricOn/otlp/histogram=10": {Cost: 70_000},
		"MetricOn/ueventsmetric/sum=100": {Cost: 1000}, "MetricOn/ueventsmetric/histogram=100": {Cost: 100_000},
	}}
	text, err := points(run, "MetricOn")
	require.NoError(t, err)
	assert.Equal(t, "| **`ueventsmetric`** | 10 (0) | 1,000 (0) |\n| OTLP over HTTP | 5,000 (1.5) | 7,000 (0) |", text)

	delete(run.Figures, "MetricOn/otlp/histogram=10")
	_, err = points(run, "MetricOn")
	assert.ErrorContains(t, err, "no figure for MetricOn/otlp of a histogram")
	_, err = points(run, "MetricOff")
	assert.ErrorContains(t, err, "no figure for MetricOff")
	run.Figures["MetricOn/otlp/sum=many"] = figures.Figure{}
	_, err = points(run, "MetricOn")
	assert.ErrorContains(t, err, "MetricOn/otlp/sum=many: ")
	_, err = points(&figures.Run{Figures: map[string]figures.Figure{"MetricOn/new/sum=1": {}}}, "MetricOn")
	assert.ErrorContains(t, err, "no label for the contender new")
}

// TestLabel: a contender that is measured with several events attached says which.
func TestLabel(t *testing.T) {
	for group, want := range map[string]string{"SpanOff": "**`ueventstrace.TracerProvider`**", "SpanOn": "**`ueventstrace.TracerProvider`**, `_span`"} {
		got, err := label(group, "ueventstrace")
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestThousands(t *testing.T) {
	for v, want := range map[float64]string{0: "0.0", 9.4: "9.4", 10.46: "10", 999.5: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, thousands(v))
	}
}
