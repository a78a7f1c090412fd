//go:build !386 && !arm && !mips && !mipsle

package collectortest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/userevents/userevents-go/internal/testscale"
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
