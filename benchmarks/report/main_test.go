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
	all, err := load(results)
	require.NoError(t, err)
	return all
}

// TestCommitted: pages, plots and table are what the committed figures make of them.
func TestCommitted(t *testing.T) {
	files, err := render(committed(t), read(t, root, "README.md"))
	require.NoError(t, err)
	assert.Len(t, files, 4)
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
	return &runs{counted: &run, timed: all.timed, native: all.native}
}

func TestRenderRefuses(t *testing.T) {
	all := committed(t)
	_, err := render(all, "# a README without marks")
	assert.ErrorContains(t, err, "no place for the table")
	for _, name := range []string{"Floor/load", "sloghandler:Kernel/json", "Register/events=100"} {
		_, err := render(without(all, name), tableBegin+tableEnd)
		assert.ErrorContains(t, err, "no figure for "+name)
	}
	more := without(all, "")
	more.counted.Figures["On/new/five"] = figures.Figure{Cost: 1}
	_, err = render(more, tableBegin+tableEnd)
	assert.ErrorContains(t, err, "no label for the contender new")

	worse := without(all, "")
	worse.counted.Figures["encode/attrjson:FiveAttrs"] = figures.Figure{Cost: 1101}
	_, err = render(worse, tableBegin+tableEnd)
	assert.ErrorContains(t, err, "say why")
	_, err = load(t.TempDir())
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// TestContenders: the cheapest first, and a cell that nobody measured is empty.
func TestContenders(t *testing.T) {
	run := &figures.Run{Figures: map[string]figures.Figure{
		"On/zap/none": {Cost: 5}, "On/zap/five": {Cost: 2000}, "On/zerolog/five": {Cost: 300.4}, "Off/zap/five": {Cost: 1},
	}}
	text, err := contenders(run, "On", []string{"none", "five"})
	require.NoError(t, err)
	assert.Equal(t, "| zerolog |  | 300 |\n| zap | 5.0 | 2,000 |", text)
	_, err = contenders(run, "Parallel/on", []string{"goroutines=1"})
	assert.ErrorContains(t, err, "no figure for Parallel/on")
}

func TestThousands(t *testing.T) {
	for v, want := range map[float64]string{0: "0.0", 9.4: "9.4", 10.46: "10", 999.5: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, thousands(v))
	}
}
