package usereventsreceiver

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
	_ "github.com/userevents/userevents-go/internal/memory/private"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// newSettings returns the settings of a receiver whose metrics are in telemetry.
func newSettings(telemetry *componenttest.Telemetry) receiver.Settings {
	set := receivertest.NewNopSettings(metadata.Type)
	set.TelemetrySettings = telemetry.NewTelemetrySettings()
	return set
}

// machine is a simulated kernel with programs. Its sources read what the programs wrote, as a reader.Reader would.
type machine struct {
	t         *testing.T
	simulated *ueventstest.Kernel
	factory   receiver.Factory

	mu      sync.Mutex
	errs    []error // of the next attempts to open a source
	refuse  []error // of the next calls of Add
	kernel  error   // why the kernel's events cannot be read; those of the machine are then in shared memory
	tried   int     // attempts to read the kernel's events alone
	opened  int     // other sources
	counted int     // calls of Stats
	exited  []int32 // processes of the next notices
	lose    string  // the name of an event whose records get lost

	detaching chan struct{} // nil, or the kernel takes until it is closed to detach
}

// No delivery is dropped because the machine is slow.
func init() {
	shutdownLimit, shutdownRetry, shutdownReturn, shutdownDetach = testscale.Patience, testscale.Patience, testscale.Patience, testscale.Patience
}

func newMachine(t *testing.T, o *ueventstest.Options) *machine {
	m := &machine{t: t, simulated: ueventstest.New(t, o)}
	m.factory = newFactory(m.open)
	return m
}

// logger returns a program's logger. Its events exist from now on.
func (m *machine) logger(name string) *slog.Logger {
	h, err := sloghandler.New(name, &sloghandler.Options{Provider: m.provider()})
	require.NoError(m.t, err)
	m.t.Cleanup(func() { assert.NoError(m.t, h.Close()) })
	return slog.New(h)
}

func (m *machine) provider() *uevents.Provider {
	p := m.simulated.Provider()
	m.t.Cleanup(func() { assert.NoError(m.t, p.Close()) })
	return p
}

func (m *machine) open(o *reader.Options) (source, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.errs) > 0 {
		err := m.errs[0]
		if m.errs = m.errs[1:]; err != nil {
			return nil, err
		}
	}
	if o.Transport == reader.TransportKernel {
		m.tried++
		if m.kernel != nil {
			return nil, m.kernel
		}
	} else {
		m.opened++
	}
	tool, err := m.simulated.Attach(ueventstest.Perf, "*")
	if err != nil {
		return nil, err
	}
	rings := 0
	if m.kernel == nil {
		rings = 1
	}
	return &machineSource{m: m, o: o, tool: tool, rings: rings, decoders: map[string]*record.Decoder{}}, nil
}

// machineSource is a source of a machine.
type machineSource struct {
	m        *machine
	o        *reader.Options
	tool     *ueventstest.Tool
	rings    int
	decoders map[string]*record.Decoder
	noted    uint64 // lost records in notices

	mu       sync.Mutex
	deadline time.Time
	fail     error // of Next
	closed   bool
	lastRead string
}

func (s *machineSource) NextUndecoded(u *reader.Undecoded) (raw []byte, err error) {
	s.mu.Lock()
	ctx, cancel := context.WithDeadline(context.Background(), s.deadline) //nolint:forbidigo // the receiver's
	closed, fail := s.closed, s.fail
	s.mu.Unlock()
	defer cancel()
	if closed || fail != nil {
		return nil, errors.Join(fail, os.ErrClosed)
	}
	s.CheckNotices()
	rec, err := s.tool.Next(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, os.ErrDeadlineExceeded
	case errors.Is(err, io.EOF):
		s.CheckNotices()
		return nil, io.EOF
	case err != nil:
		return nil, err
	case rec.Event == s.m.lose:
		return s.NextUndecoded(u)
	}
	*u = reader.Undecoded{
		Time: rec.Time, Monotonic: uint64(rec.Time.UnixNano()), CPU: 1, PID: 812, TID: 815,
		Process: &record.Process{PID: 812, Comm: "myapp", Exe: "/usr/bin/myapp", ContainerID: "c0ffee"},
		Decoder: s.decoder(rec),
	}
	s.lastRead = tracepoint.System + ":" + rec.Event
	return append(make([]byte, tracepoint.CommonSize), rec.Payload...), nil
}

func (s *machineSource) decoder(rec ueventstest.Record) *record.Decoder {
	if d := s.decoders[rec.Event]; d != nil {
		return d
	}
	text, err := s.m.simulated.Format(rec.Event)
	assert.NoError(s.m.t, err)
	f, err := tracepoint.ParseFormat(text)
	assert.NoError(s.m.t, err)
	d, err := record.NewDecoder(tracepoint.System, f)
	assert.NoError(s.m.t, err)
	s.decoders[rec.Event] = d
	return d
}

// CheckNotices assigns all losses to the event of the last record.
func (s *machineSource) CheckNotices() {
	s.m.mu.Lock()
	exited := s.m.exited
	s.m.exited = nil
	s.m.mu.Unlock()
	for _, pid := range exited {
		s.o.Notify(reader.Notice{Kind: reader.NoticeExited, PID: pid})
	}
	if lost := s.tool.Lost(); lost > s.noted {
		s.o.Notify(reader.Notice{Kind: reader.NoticeLost, Event: s.lastRead, Count: lost - s.noted})
		s.noted = lost
	}
}

func (s *machineSource) SetDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
}

func (s *machineSource) State() reader.State {
	return reader.State{Rings: s.rings, Attached: len(s.m.simulated.Events())}
}

func (s *machineSource) Stats() (reader.Stats, error) {
	s.m.mu.Lock()
	s.m.counted++
	s.m.mu.Unlock()
	st := reader.Stats{State: s.State()}
	for _, e := range s.m.simulated.Events() {
		st.Events = append(st.Events, reader.EventStats{Name: tracepoint.System + ":" + e.Name})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Total.Lost = s.tool.Lost()
	if s.closed {
		st.Total.Lost += uint64(len(s.tool.Records()))
	}
	return st, nil
}

func (s *machineSource) Select(...reader.Selection) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if len(s.m.refuse) == 0 {
		return nil
	}
	err := s.m.refuse[0]
	s.m.refuse = s.m.refuse[1:]
	return err
}

func (s *machineSource) Stop() error {
	s.tool.Detach()
	return nil
}

func (s *machineSource) Close() error {
	if s.m.detaching != nil {
		<-s.m.detaching
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.tool.Detach()
	return nil
}

// sink is a consumer that keeps the log records that it accepts.
type sink struct {
	consumertest.LogsSink
	mu      sync.Mutex
	refuse  func(plog.Logs) error
	mutates bool
}

func (s *sink) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: s.mutates}
}

func (s *sink) ConsumeLogs(ctx context.Context, l plog.Logs) error {
	s.mu.Lock()
	refuse := s.refuse
	s.mu.Unlock()
	if refuse != nil {
		if err := refuse(l); err != nil {
			return err
		}
	}
	return s.LogsSink.ConsumeLogs(ctx, l)
}

// bodies returns the messages of the accepted log records.
func (s *sink) bodies() (list []string) {
	for lr := range recordsOf(s.AllLogs()) {
		list = append(list, lr.Body().AsString())
	}
	return list
}

// recordsOf returns the log records in data.
func recordsOf(all []plog.Logs) iter.Seq[plog.LogRecord] {
	return func(yield func(plog.LogRecord) bool) {
		for _, data := range all {
			for _, rl := range data.ResourceLogs().All() {
				for _, sl := range rl.ScopeLogs().All() {
					for _, lr := range sl.LogRecords().All() {
						if !yield(lr) {
							return
						}
					}
				}
			}
		}
	}
}

// host records the status of a component.
type host struct {
	component.Host
	mu     sync.Mutex
	events []*componentstatus.Event
}

func newHost() *host { return &host{Host: componenttest.NewNopHost()} }

// Report implements componentstatus.Reporter.
func (h *host) Report(e *componentstatus.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

// last returns the number of reports, and the last status with its error.
func (h *host) last() (int, componentstatus.Status, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.events) == 0 {
		return 0, componentstatus.StatusNone, nil
	}
	e := h.events[len(h.events)-1]
	return len(h.events), e.Status(), e.Err()
}

// awaitOK waits until the component reads the events that exist, on all CPUs.
func (h *host) awaitOK(t *testing.T) {
	t.Helper()
	testscale.Eventually(t, func() bool { _, status, _ := h.last(); return status == componentstatus.StatusOK }, "the receiver does not read events")
}

// fast returns a configuration with short intervals, whose records do not depend on the machine's name.
func fast() *Config {
	c := defaultConfig()
	c.Batch.Timeout = 10 * time.Millisecond
	c.Attributes.HostName.Enabled = false
	c.Discovery.RetryInterval = 10 * time.Millisecond
	c.RetryOnFailure.InitialInterval, c.RetryOnFailure.MaxInterval = time.Millisecond, 10*time.Millisecond
	return c
}

// start starts a receiver of log records, and shuts it down with the test.
func (m *machine) start(cfg *Config, next consumer.Logs) (receiver.Logs, *componenttest.Telemetry) {
	m.t.Helper()
	telemetry := componenttest.NewTelemetry()
	m.t.Cleanup(func() { assert.NoError(m.t, telemetry.Shutdown(context.Background())) })
	r, err := m.factory.CreateLogs(m.t.Context(), newSettings(telemetry), cfg, next)
	require.NoError(m.t, err)
	before := m.sources()
	require.NoError(m.t, r.Start(m.t.Context(), newHost()))
	m.t.Cleanup(func() { assert.NoError(m.t, r.Shutdown(context.Background())) })
	testscale.Eventually(m.t, func() bool { return m.sources() > before }, "no source is opened")
	return r, telemetry
}

// sources returns how many sources were opened.
func (m *machine) sources() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.opened
}

// counter returns the sum of a metric of the Collector for attributes.
func counter(t *testing.T, telemetry *componenttest.Telemetry, name string, attributes ...attribute.KeyValue) (sum int64) {
	t.Helper()
	m, err := telemetry.GetMetric("otelcol_receiver_" + name)
	if err != nil {
		return 0 // nothing was counted
	}
	data, ok := m.Data.(metricdata.Sum[int64])
	require.True(t, ok)
	for _, p := range data.DataPoints {
		matches := true
		for _, kv := range attributes {
			v, ok := p.Attributes.Value(kv.Key)
			matches = matches && ok && v == kv.Value
		}
		if matches {
			sum += p.Value
		}
	}
	return sum
}

// exit makes a process end after the records that were written.
func (m *machine) exit(pid int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.exited = append(m.exited, pid)
}

// waitForSource waits until a source is open that was not closed.
func (m *machine) waitForSource() {
	testscale.Eventually(m.t, func() bool {
		for _, e := range m.simulated.Events() {
			if e.Perf > 0 {
				return true
			}
		}
		return false
	}, "no source is open")
}
