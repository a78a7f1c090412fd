package sink

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Report is what arrived.
type Report struct {
	Logs, Spans, Points int
	Requests            int // in which they came

	// Log records and spans by user_events.name, container.id, process.executable.name and process.pid.
	Events, Containers, Programs, Processes map[string]int

	// Resources are log records and spans by all attributes of their resource, as a JSON object.
	Resources map[string]int

	// Whole are spans by the numbers of events that have the span's name, and of links whose attribute SpanName is that: see Parts.
	Whole map[string]int

	// Delays are log records by the whole milliseconds from their timestamp to the sink.
	Delays map[int64]int
}

// SpanName is the attribute of links by which a test recognises their span.
const SpanName = "span"

// Parts returns the key of Report.Whole for numbers of events and links.
func Parts(events, links int) string { return fmt.Sprintf("%d events, %d links", events, links) }

const interval = 100 * time.Millisecond

type counter struct {
	config *Config

	mu      sync.Mutex
	report  Report
	pending bool // a report is due
}

func newCounter(config *Config) *counter {
	return &counter{config: config, report: Report{Events: map[string]int{}, Containers: map[string]int{}, Programs: map[string]int{}, Processes: map[string]int{}, Resources: map[string]int{}, Whole: map[string]int{}, Delays: map[int64]int{}}}
}

// wait returns when the exporter is not stalled.
func (c *counter) wait(ctx context.Context) error {
	for c.config.Stall != "" {
		if _, err := os.Stat(c.config.Stall); err != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// count waits until the exporter is not stalled, and calls f.
func (c *counter) count(ctx context.Context, f func(r *Report)) error {
	if err := c.wait(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.report)
	c.report.Requests++
	if !c.pending {
		c.pending = true
		time.AfterFunc(interval, func() {
			if err := c.write(); err != nil {
				fmt.Fprintln(os.Stderr, "sink:", err)
			}
		})
	}
	return nil
}

func (c *counter) consumeLogs(ctx context.Context, data plog.Logs) error {
	return c.count(ctx, func(r *Report) {
		r.Logs += data.LogRecordCount()
		if !c.config.Detailed && !c.config.Delays {
			return
		}
		now := time.Now()
		for _, resource := range data.ResourceLogs().All() {
			n := 0
			for _, scope := range resource.ScopeLogs().All() {
				for _, l := range scope.LogRecords().All() {
					n++
					if c.config.Delays {
						r.Delays[now.Sub(l.Timestamp().AsTime()).Milliseconds()]++
					}
					if c.config.Detailed {
						c.detail(l.Attributes())
					}
				}
			}
			if c.config.Detailed {
				c.origin(resource.Resource(), n)
			}
		}
	})
}

func (c *counter) consumeTraces(ctx context.Context, data ptrace.Traces) error {
	return c.count(ctx, func(r *Report) {
		r.Spans += data.SpanCount()
		if !c.config.Detailed {
			return
		}
		for _, resource := range data.ResourceSpans().All() {
			n := 0
			for _, scope := range resource.ScopeSpans().All() {
				for _, s := range scope.Spans().All() {
					n++
					c.detail(s.Attributes())
					c.report.Whole[partsOf(s)]++
				}
			}
			c.origin(resource.Resource(), n)
		}
	})
}

func partsOf(s ptrace.Span) string {
	events, links := 0, 0
	for _, e := range s.Events().All() {
		if e.Name() == s.Name() {
			events++
		}
	}
	for _, l := range s.Links().All() {
		if text(l.Attributes(), SpanName) == s.Name() {
			links++
		}
	}
	return Parts(events, links)
}

func (c *counter) consumeMetrics(ctx context.Context, data pmetric.Metrics) error {
	return c.count(ctx, func(r *Report) { r.Points += data.DataPointCount() })
}

// detail counts a log record or a span by its tracepoint.
func (c *counter) detail(attributes pcommon.Map) {
	c.report.Events[text(attributes, "user_events.name")]++
}

func (c *counter) origin(resource pcommon.Resource, n int) {
	c.report.Containers[text(resource.Attributes(), "container.id")] += n
	c.report.Programs[text(resource.Attributes(), "process.executable.name")] += n
	c.report.Processes[text(resource.Attributes(), "process.pid")] += n
	all, err := json.Marshal(resource.Attributes().AsRaw())
	if err != nil { // a number that JSON has not
		all = []byte(err.Error())
	}
	c.report.Resources[string(all)] += n
}

// text returns the text of an attribute, or "".
func text(attributes pcommon.Map, key string) string {
	v, ok := attributes.Get(key)
	if !ok {
		return ""
	}
	return v.AsString()
}

func (c *counter) write() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = false
	text, err := json.Marshal(c.report)
	if err != nil {
		return err
	}
	// A reader sees the old report or the new one.
	if err := os.WriteFile(c.config.Report+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(c.config.Report+".new", c.config.Report)
}
