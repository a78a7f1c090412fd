//go:build !386 && !arm && !mips && !mipsle

package collectortest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/userevents/userevents-go/internal/testscale"
)

// TestHealth: a Collector that reads no events fails its health check and has a metric that says why. One whose programs write nothing does not.
func TestHealth(t *testing.T) {
	testscale.HostOnly(t)
	for _, c := range []struct {
		receiver string
		healthy  bool
	}{
		{"  user_events: {events: [no_such_event], transport: memory}", true},
		{"  user_events: {events: ['sched:no_such_event']}", false}, // for want of the event, of rights, or of the feature
	} {
		collector := start(t, settings{receivers: c.receiver})
		collector.until("its health is known", func() bool {
			own := collector.scrape()
			return collector.healthy() == c.healthy && (own.sum(available) > 0) == c.healthy && len(own.of(available)) > 0
		})
		for labels := range collector.scrape().of(available) {
			assert.Equal(t, c.healthy, strings.Contains(labels, `reason=""`), labels)
		}
		collector.end()
	}
}

// of returns the samples of a metric by their labels.
func (s samples) of(metric string) samples {
	list := samples{}
	for name, v := range s {
		if rest, ok := strings.CutPrefix(name, metric); ok && strings.HasPrefix(rest, "{") {
			list[rest] = v
		}
	}
	return list
}

// TestAlerts: the alert rules of docs/collector.md use metrics that the receiver, or a Collector with a queue, has.
func TestAlerts(t *testing.T) {
	testscale.HostOnly(t)
	_, text, ok := strings.Cut(string(file(t, distribution, "..", "..", "docs", "collector.md")), "```yaml\ngroups:\n")
	require.True(t, ok)
	text, _, _ = strings.Cut(text, "```")
	type rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	r := decode[rules](t, []byte("groups:\n"+text))
	require.Len(t, r.Groups, 1)
	var metadata struct {
		Telemetry struct{ Metrics map[string]any }
	}
	require.NoError(t, yaml.Unmarshal(file(t, distribution, "..", "usereventsreceiver", "metadata.yaml"), &metadata))
	q, _, batch := shipped(t)
	collector := startQueued(t, q, batch, "}")
	own := collector.scrape()
	names := 0
	for _, rule := range r.Groups[0].Rules {
		assert.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		// A counter has no series before its first count: an increase alone does not see that one.
		if _, counter, ok := strings.Cut(rule.Expr, "increase("); ok {
			counter, _, _ = strings.Cut(counter, "[10m]")
			assert.Contains(t, rule.Expr, " or ("+counter+" unless "+counter+" offset 10m) > 0", rule.Alert)
		}
		for _, name := range regexp.MustCompile(`otelcol_\w+`).FindAllString(rule.Expr, -1) {
			names++
			_, ours := metadata.Telemetry.Metrics[strings.TrimPrefix(name, "otelcol_")]
			assert.True(t, ours || len(own.of(name)) > 0, "%s: %s", rule.Alert, name)
		}
	}
	assert.Greater(t, names, len(r.Groups[0].Rules)-1)
	collector.end()
}
