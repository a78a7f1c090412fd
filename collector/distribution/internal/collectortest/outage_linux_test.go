//go:build !386 && !arm && !mips && !mipsle

package collectortest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/userevents/userevents-go/internal/memory/attachtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// An outage of an hour at 1,000 records a second, of which the tests run a part. They wait for what happens rather than for the time, so that
// timeouts are shorter, and no machine is too slow.
const (
	outageRate    = 1000
	outageSeconds = 3600
	outagePart    = 180
	outageFaster  = 10
)

// queueConfig is the exporter's queue in config.yaml.
type queueConfig struct {
	Storage         string `json:"storage"`
	Sizer           string `json:"sizer"`
	QueueSize       int    `json:"queue_size"`
	BlockOnOverflow bool   `json:"block_on_overflow"`
	NumConsumers    int    `json:"num_consumers"`
	Batch           struct {
		FlushTimeout string `json:"flush_timeout"`
		MinSize      int    `json:"min_size"`
		MaxSize      int    `json:"max_size"`
	} `json:"batch"`
}

// shipped returns the queue of config.yaml, and its timeouts in time that passes faster: of a batch of the queue and of the receiver.
func shipped(t *testing.T) (q queueConfig, flush, batch time.Duration) {
	var config struct {
		Receivers struct {
			UserEvents struct {
				Batch struct{ Timeout string } `json:"batch"`
			} `json:"user_events"`
		} `json:"receivers"`
		Exporters map[string]struct {
			Queue json.RawMessage `json:"sending_queue"`
		} `json:"exporters"`
	}
	require.NoError(t, yaml.Unmarshal(file(t, distribution, "config.yaml"), &config))
	require.NoError(t, yaml.UnmarshalStrict(config.Exporters["otlp_grpc"].Queue, &q))
	flush, err := time.ParseDuration(q.Batch.FlushTimeout)
	require.NoError(t, err)
	batch, err = time.ParseDuration(config.Receivers.UserEvents.Batch.Timeout)
	require.NoError(t, err)
	flush, batch = flush/outageFaster, batch/outageFaster
	q.Batch.FlushTimeout = flush.String()
	return q, flush, batch
}

// startQueued starts a Collector with a queue on disk.
func startQueued(t *testing.T, q queueConfig, batch time.Duration, more string) *collector {
	text, err := json.Marshal(q)
	require.NoError(t, err)
	receiver := strings.Replace(inMemory, "{", fmt.Sprintf("{batch: {timeout: %v%s, ", batch, more), 1)
	return start(t, settings{receivers: receiver, sink: "    detailed: true\n    sending_queue: " + string(text)})
}

// onDisk returns the bytes that the files of the queues take.
func (c *collector) onDisk() (sum int) {
	require.NoError(c.tb, filepath.WalkDir(c.storage(), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		sum += int(info.Size())
		return err
	}))
	return sum
}

// TestOutage: the shipped queue bridges an outage of an hour at 1,000 records a second. A 180th of it is run, with a program for the records of
// each second: nothing is lost, and the queue of the whole hour, of the size that is measured, fits the limit.
func TestOutage(t *testing.T) {
	testscale.HostOnly(t)
	const seconds = outageSeconds / outagePart
	const records = outageRate * seconds
	q, _, batch := shipped(t)
	limit := q.QueueSize
	require.Equal(t, "bytes", q.Sizer)
	q.QueueSize /= outagePart
	c := startQueued(t, q, batch, "}")
	require.NoError(t, os.WriteFile(c.stall, nil, 0o600))
	written := map[string]int{}
	for second := range seconds {
		p := launchNative(t, "slog", outageRate)
		c.attachedTo(p)
		p.start()
		for name, n := range p.end() {
			written[name] += n
		}
		c.until("all records are in the queue", func() bool { return c.scrape().accepted() == (second+1)*outageRate })
	}
	queued, disk := c.scrape().sum("otelcol_exporter_queue_size", `data_type="logs"`), c.onDisk()
	t.Logf("%d bytes of a record in the queue, %d on disk: %d MiB for the hour, of %d MiB; %d MiB of files",
		queued/records, disk/records, queued*outagePart>>20, limit>>20, disk>>20)
	assert.Positive(t, queued)
	assert.LessOrEqual(t, queued*outagePart, limit)
	assert.LessOrEqual(t, disk*outagePart, limit)
	assert.Zero(t, c.received().Logs)
	require.NoError(t, os.Remove(c.stall))
	sum, arrived := c.account(written)
	assert.Equal(t, []int{records, records}, []int{sum, arrived})
	c.end()
}

// TestOutageTooLong: what the queue has no room for is lost in the rings, and counted by event. What is in the queue arrives.
func TestOutageTooLong(t *testing.T) {
	testscale.HostOnly(t)
	const records = 40_000 // more than queues and rings have room for
	q, _, batch := shipped(t)
	q.QueueSize, q.Batch.MinSize, q.Batch.MaxSize = 1<<20, 1<<18, 1<<19
	c := startQueued(t, q, batch, ", max_records: 500}, budget_mib: 8")
	require.NoError(t, os.WriteFile(c.stall, nil, 0o600))
	p := launchNative(t, "slog", records)
	c.attachedTo(p)
	p.start()
	written := p.end()
	c.until("lost records are counted", func() bool { return c.scrape().lost("") > 0 })
	require.NoError(t, os.Remove(c.stall))
	sum, arrived := c.account(written)
	assert.Less(t, arrived, sum)
	assert.Positive(t, arrived)
	c.end()
}

// TestFewRequests: while little happens, a node makes at most one request in the time of the shipped configuration.
func TestFewRequests(t *testing.T) {
	testscale.HostOnly(t)
	const records = 300
	q, flush, batch := shipped(t)
	assert.Equal(t, 5*time.Second, flush*outageFaster)
	c := startQueued(t, q, batch, "}")
	p := launchAnyhow(t, "slog", records, 20*outageFaster, nil, memoryEnv...)
	c.attachedTo(p)
	began := time.Now()
	p.start()
	p.end()
	c.until("all records have arrived", func() bool { return c.received().Logs == records })
	most := int(time.Since(began)/flush) + 1 //nolint:forbidigo // a slow machine has the time for more
	t.Logf("%d requests, at most %d", c.received().Requests, most)
	assert.LessOrEqual(t, c.received().Requests, most)
	c.end()
}

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

// TestMemoryReload: a reload of the configuration loses no record that a program has written, but the program writes none until the
// receiver is attached again. A change of the rules leaves no such time.
func TestMemoryReload(t *testing.T) {
	testscale.HostOnly(t)
	p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	name := memoryName + "_reload"
	h, err := sloghandler.New(name, &sloghandler.Options{Provider: p})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })

	rules := filepath.Join(t.TempDir(), "rules.yaml")
	s := settings{receivers: strings.Replace(inMemory, "discovery: {", "level: info, discovery: {rules_file: "+rules+", ", 1), pipelines: []string{"logs"}}
	c := start(t, s)
	c.until("it has attached", func() bool {
		return attachtest.Attached(c.cmd.Process.Pid, os.Getpid(), func(event string) bool { return event != name+"_debug" })
	})
	// attached returns the Collector's session, if it requests an event, and whether the event is enabled. Other tools may have enabled it, too.
	attached := func(event string) (generation uint64, enabled bool) {
		st, err := attachtest.Of(os.Getpid(), c.cmd.Process.Pid)
		require.NoError(t, err)
		for _, session := range st.Sessions {
			if enabled, ok := session.Events[event]; ok {
				return session.Generation, enabled
			}
		}
		return 0, false
	}

	written, unsure, missed := 0, 0, 0
	logUntil := func(what string, condition func() bool) {
		t.Helper()
		c.until(what, func() bool {
			for range 10 {
				time.Sleep(time.Millisecond) //nolint:forbidigo // pacing
				before, enabled := attached(name + "_info")
				slog.New(h).Info("message")
				switch after, still := attached(name + "_info"); {
				case enabled && still && before == after:
					written++
				case before == 0 && after == 0:
					missed++
				default:
					unsure++ // the session begins or ends
				}
			}
			return condition()
		})
	}
	rest := "events: [" + memoryName + "], until: " + time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for _, rule := range []string{"{level: debug, " + rest + "}", "{level: info, " + rest + "}"} {
		debug := strings.Contains(rule, "debug")
		require.NoError(t, os.WriteFile(rules, []byte("rules: ["+rule+"]"), 0o600))
		logUntil("the rules are in force: "+rule, func() bool {
			_, enabled := attached(name + "_debug")
			return enabled == debug
		})
		assert.Zero(t, unsure+missed, "records are missing while rules change")
	}

	config := filepath.Join(filepath.Dir(c.report), "config.yaml")
	before := c.report
	c.report = filepath.Join(filepath.Dir(before), "report2.json")
	require.NoError(t, os.WriteFile(config, []byte(c.configuration(s)), 0o600))
	first, _ := attached(name + "_info")
	c.signal(syscall.SIGHUP)
	logUntil("it has attached again", func() bool {
		generation, enabled := attached(name + "_info")
		return enabled && generation != first
	})
	t.Logf("records of about %d ms are missing because of the reload", missed)
	c.end()
	arrived := c.received().Logs
	c.report = before
	arrived += c.received().Logs
	assert.GreaterOrEqual(t, arrived, written)
	assert.LessOrEqual(t, arrived, written+unsure)
}
