package usereventsreceiver

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/userevents/userevents-go/internal/testscale"
)

// drained is the memory of records that are taken out of rings of the kernel at a time, as README.md has it.
func drained(processors int) int { return max(10<<20, ringSets*processors*20<<10) }

// TestBudget: the parts of a budget are within it for any number of processors, and none is nothing.
func TestBudget(t *testing.T) {
	for _, mib := range []int{1, 64, 512, 4096} {
		for processors := 1; processors <= 1024; processors++ {
			b := (&Config{BudgetMiB: mib}).budget(processors)
			if rings := ringSets * processors * b.ring; b.ring > leastRing {
				assert.LessOrEqual(t, rings, mib<<20/8, "%d MiB, %d processors", mib, processors)
				if b.ring < mostRing {
					assert.Greater(t, 2*rings, mib<<20/8, "%d MiB, %d processors: it is not used", mib, processors)
				}
			}
			assert.LessOrEqual(t, b.queue+programCopies*b.programs, mib<<20/8*7)
			assert.Positive(t, b.programs)
		}
	}
}

// shipped returns a value of a file of the distribution.
func shipped[T any](t *testing.T, c *confmap.Conf, path string) T {
	t.Helper()
	v, ok := c.Get(path).(T)
	require.True(t, ok, path)
	return v
}

// mib returns a number of MiB from a text such as 896Mi.
func mib(t *testing.T, text, unit string) int {
	t.Helper()
	number, ok := strings.CutSuffix(text, unit)
	require.True(t, ok, text)
	n, err := strconv.Atoi(number)
	require.NoError(t, err)
	return n
}

// TestShippedLimits: for 2 to 256 processors, memory_limiter refuses nothing for what the receivers and exporters hold, and the pod has room for
// that and for the rings. docs/collector.md has the formula.
func TestShippedLimits(t *testing.T) {
	for name, files := range map[string][]string{"example": {"config.yaml"}, "failed requests": {"config.yaml", "config-failed-requests.yaml"}} {
		t.Run(name, func(t *testing.T) { testShippedLimits(t, files) })
	}
}

func testShippedLimits(t *testing.T, files []string) {
	const own = 64 << 20 // what a Collector takes without records, about twice
	testscale.UsesCheckout()
	dir := filepath.Join("..", "distribution")
	conf := confmap.New()
	for _, name := range files {
		c, err := confmaptest.LoadConf(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NoError(t, conf.Merge(c))
	}
	limit := shipped[int](t, conf, "processors::memory_limiter::limit_mib")
	refusesAt := (limit - shipped[int](t, conf, "processors::memory_limiter::spike_limit_mib")) << 20
	exporters := 0
	for _, pipeline := range shipped[map[string]any](t, conf, "service::pipelines") { // each exporter has a queue for each of its pipelines
		for _, e := range pipeline.(map[string]any)["exporters"].([]any) {
			queue := "exporters::" + e.(string) + "::sending_queue::"
			// A request is in memory as data and encoded, and the next one is made meanwhile.
			exporters += 3 * shipped[int](t, conf, queue+"num_consumers") * shipped[int](t, conf, queue+"batch::max_size")
		}
	}

	daemonSet, err := confmaptest.LoadConf(filepath.Join(dir, "daemonset.yaml"))
	require.NoError(t, err)
	container := confmap.NewFromStringMap(shipped[[]any](t, daemonSet, "spec::template::spec::containers")[0].(map[string]any))
	pod := mib(t, shipped[string](t, container, "resources::limits::memory"), "Mi") << 20
	for _, e := range shipped[[]any](t, container, "env") {
		if v := e.(map[string]any); v["name"] == "GOMEMLIMIT" {
			assert.Equal(t, limit, mib(t, fmt.Sprint(v["value"]), "MiB"), "the garbage collection begins in time")
		}
	}
	for processors := 2; processors <= 256; processors++ {
		heap, rings := own+exporters, 0
		for id := range shipped[map[string]any](t, conf, "receivers") {
			cfg := defaultConfig()
			sub, err := conf.Sub("receivers::" + id)
			require.NoError(t, err)
			require.NoError(t, sub.Unmarshal(cfg))
			b := cfg.budget(processors)
			heap += b.queue + (programCopies-1)*b.programs + drained(processors) + 2*3*cfg.Batch.MaxSizeKiB<<10 + cfg.Spans.MaxSizeMiB<<20
			if cfg.Tail.When != "" {
				heap += cfg.Tail.SizeMiB << 20
			}
			rings += ringSets*processors*b.ring + b.programs
		}
		assert.LessOrEqual(t, heap, refusesAt, "%d processors", processors)
		assert.LessOrEqual(t, limit<<20+rings, pod, "%d processors", processors)
	}
}
