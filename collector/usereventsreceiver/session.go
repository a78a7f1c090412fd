package usereventsreceiver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver"
	"go.uber.org/zap"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/uevents"
)

// session collects events for the receivers of one configuration. One goroutine moves records from the rings to the
// queue, another one decodes, converts and delivers them.
type session struct {
	cfg       *Config
	open      opener
	logger    *zap.Logger
	telemetry *telemetry
	status    status
	available available
	outputs   outputs
	queue     *queue
	forget    func()
	lost      map[string]uint64 // lost records that were counted since the source was opened, by event
	rules     rules
	watching  sync.WaitGroup // of watchRules
	kernel    kernelState    // used by collect only
	leftOut   int            // events beyond the limits; used by notice only
	limits    limits         // used by collect and notice only

	stopping  chan struct{} // closed by Shutdown
	delivered chan struct{} // closed when all is delivered
	done      chan struct{} // closed when the source is closed, too
	ctx       context.Context
	cancel    context.CancelFunc // ends deliveries
	patience  time.Duration      // of Shutdown with deliveries
	start     sync.Once
	stop      sync.Once

	mu      sync.Mutex
	started bool   // guarded by mu
	source  source // the open one; guarded by mu
}

func newSession(set receiver.Settings, cfg *Config, open opener) (*session, error) {
	t, err := newTelemetry(set)
	if err != nil {
		return nil, err
	}
	logger := set.Logger.WithOptions(zap.AddStacktrace(zap.DPanicLevel)) // the reasons of its errors are outside of the program
	s := &session{
		cfg: cfg, rules: rules{path: cfg.Discovery.RulesFile}, open: open, logger: logger, telemetry: t, queue: newQueue(cfg.budget(processors()).queue),
		stopping: make(chan struct{}), delivered: make(chan struct{}), done: make(chan struct{}), patience: shutdownLimit,
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.outputs.init()
	s.outputs.retry = newRetry(cfg.RetryOnFailure, s.ctx.Done())
	s.outputs.logger, s.outputs.telemetry = logger, t
	return s, nil
}

// Start begins to collect events. It returns before that succeeds: while something is missing, the session reports that
// as its status and tries again.
func (s *session) Start(_ context.Context, host component.Host) (err error) {
	s.status.add(host)
	s.start.Do(func() {
		if err = s.begin(); err != nil {
			return
		}
		if s.rules.path != "" {
			s.watching.Go(s.watchRules)
		}
		collected := make(chan struct{})
		go func() {
			defer close(collected)
			s.collect()
		}()
		go func() {
			newWorker(s).run()
			close(s.delivered)
			<-collected
			s.watching.Wait()
			close(s.done)
		}()
	})
	return err
}

var errShutDown = errors.New("the receiver was shut down before")

// begin notes that the session is started, unless it is shut down already: nothing would close what it opens.
func (s *session) begin() error {
	if err := s.observe(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isStopping() {
		s.telemetry.Shutdown()
		return errShutDown
	}
	s.started = true
	return nil
}

// Shutdown disables the events, reads and delivers the records written before, and detaches, which it leaves to the kernel after 2 seconds.
// Data that a consumer refuses
// meanwhile is delivered again for at most 5 seconds. When ctx ends, or after 20 seconds, all that is not delivered is dropped and
// counted: a consumer may be blocked for ever, as by the full queue of an exporter, and the Collector's own ctx has no end.
func (s *session) Shutdown(ctx context.Context) (err error) {
	s.stop.Do(func() { err = s.shutDown(ctx) })
	return err
}

// Limits of Shutdown. Tests have longer ones.
var (
	shutdownLimit  = 20 * time.Second // for deliveries: less than the 30 seconds after which Kubernetes kills
	shutdownRetry  = 5 * time.Second  // retries during Shutdown
	shutdownReturn = time.Second      // for a consumer to return after its context has ended
	shutdownDetach = 2 * time.Second  // for the kernel to detach from events
)

var errShutdownEnds = errors.New("a consumer takes too long")

func (s *session) shutDown(ctx context.Context) error {
	defer s.forget()
	defer s.cancel()
	defer s.telemetry.Shutdown()
	s.mu.Lock()
	close(s.stopping)
	started, src := s.started, s.source
	s.mu.Unlock()
	if !started {
		return nil
	}
	var err error
	if src != nil {
		if err = src.Stop(); errors.Is(err, os.ErrClosed) { // it has just failed
			err = nil
		}
	}
	s.outputs.retry.limit(shutdownRetry)
	err = errors.Join(err, s.waitForDelivery(ctx))
	select {
	case <-s.done:
	case <-time.After(shutdownDetach):
		// The kernel detaches from one event after the other, and waits for two grace periods of RCU each time. It goes on when the
		// process exits. What the exporters have must be sent or stored before, and before the process is killed.
		s.logger.Info("the kernel is still detaching from events, and ends that before this process does")
	}
	return err
}

// waitForDelivery waits until all is delivered. When there is no more time for that, it makes the rest be dropped.
func (s *session) waitForDelivery(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.patience, errShutdownEnds)
	defer cancel()
	select {
	case <-s.delivered:
		return nil
	case <-ctx.Done():
	}
	s.cancel()
	select {
	case <-s.delivered:
		return fmt.Errorf("data that was not delivered is dropped: %w", context.Cause(ctx))
	case <-time.After(shutdownReturn):
		return fmt.Errorf("a consumer does not return: %w", context.Cause(ctx))
	}
}

// collect reads events into the queue until Shutdown. It opens a source again when that fails, and when another one can read more.
func (s *session) collect() {
	defer s.queue.close()
	s.checkRights()
	for {
		src, err := s.openSource()
		if err == nil {
			err = s.drain(src)
			if s.isStopping() { // the last records are delivered while the kernel detaches, which takes long for many events
				s.queue.close()
			} else {
				s.queue.end(0) // processes can end before the next source is open
			}
			s.closeSource(src)
		}
		if s.isStopping() {
			return
		}
		if err == nil {
			continue
		}
		s.available.set(s.cfg.Transport, err)
		if errors.Is(err, uevents.ErrNotSupported) {
			s.status.set(err)
			s.logger.Error("cannot read events on this kernel", zap.Error(err))
			return
		}
		if s.status.set(err) {
			s.logger.Error("cannot read events", zap.Error(err), zap.Stringer("next_attempt", s.cfg.Discovery.RetryInterval))
		}
		select {
		case <-s.stopping:
			return
		case <-time.After(s.cfg.Discovery.RetryInterval):
		}
	}
}

func (s *session) isStopping() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

// openSource opens a source. Shutdown stops it, or has stopped it.
func (s *session) openSource() (source, error) {
	o, err := s.cfg.readerOptions(&s.outputs, s.notice)
	if err != nil {
		return nil, err
	}
	src, err := s.open(o)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.source = src
	s.lost = map[string]uint64{}
	if s.isStopping() { // Shutdown found no source. Records that were written since it was opened are read all the same.
		if err := src.Stop(); err != nil {
			s.source = nil
			return nil, errors.Join(err, src.Close())
		}
	} else if list := s.rules.inForce(); len(list) > 0 {
		s.selectRules(list)
	}
	return src, nil
}

func (s *session) closeSource(src source) {
	s.mu.Lock()
	s.source = nil
	s.mu.Unlock()
	err := src.Stop()
	unread, statsErr := src.Stats()
	s.countUnread(&unread) // Shutdown does not wait for Close
	err = errors.Join(err, statsErr, src.Close())
	final, statsErr := src.Stats()
	if err = errors.Join(err, statsErr); err != nil {
		s.logger.Error("closing events", zap.Error(err))
	}
	s.countRest(&final)
}

// source is the part of reader.Reader that a session uses. Tests have their own, with the records of a simulated kernel.
type source interface {
	NextUndecoded(u *reader.Undecoded) (raw []byte, err error)
	SetDeadline(t time.Time)
	Select(list ...reader.Selection) error
	CheckNotices()
	State() reader.State
	Stats() (reader.Stats, error)
	Stop() error
	Close() error
}

type opener func(o *reader.Options) (source, error)

func openReader(o *reader.Options) (source, error) {
	r, err := reader.Open(o)
	if err != nil {
		return nil, explain(err, func() error { return uevents.Probe(&uevents.Options{Transport: uevents.TransportKernel}).Err })
	}
	return r, nil
}

// explain replaces the error of a file that is missing by what probe says of it: that the kernel has no user_events, or that this cannot be told.
func explain(err error, probe func() error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if reason := probe(); errors.Is(reason, uevents.ErrNotSupported) || errors.Is(reason, fs.ErrNotExist) {
		return reason
	}
	return err
}

// kinds returns those of the signals that pipelines take, or nil if these are all. A signal without a pipeline is not even made.
func (c *Config) kinds(out *outputs) (list []record.Kind) {
	logs, traces, metrics := out.logs.consume != nil, out.traces.consume != nil, out.metrics.consume != nil
	if c.Mapping == mappingRaw || logs && traces && metrics {
		return nil
	}
	if logs {
		list = append(list, record.KindLog, record.KindOther)
	}
	if logs && c.Spans.Starts {
		list = append(list, record.KindSpanStart)
	}
	if traces {
		list = append(list, record.KindSpan, record.KindSpanEvent, record.KindSpanLink)
	}
	if metrics {
		list = append(list, record.KindMetric)
	}
	return list
}

// selections returns what the configuration and rules select.
func (s *session) selections(rules []rule) (list []reader.Selection) {
	base, _ := s.cfg.selection(&s.outputs) // openSource has checked it
	list = append(list, base)
	for i := range rules {
		of, _ := rules[i].selection() // parseRules has checked it
		of.Kinds = base.Kinds
		list = append(list, of)
	}
	return list
}

// selection returns what the configuration selects.
func (c *Config) selection(out *outputs) (reader.Selection, error) {
	where, err := c.where()
	return reader.Selection{Events: orAll(c.Events), Excludes: c.Exclude, Where: where, Kinds: c.kinds(out)}, err
}

// orAll returns patterns, of which none means all.
func orAll(patterns []string) []string {
	if len(patterns) == 0 {
		return []string{"*"}
	}
	return patterns
}

// readerOptions returns the options of the configuration.
func (c *Config) readerOptions(out *outputs, notify func(reader.Notice)) (*reader.Options, error) {
	selected, err := c.selection(out)
	b := c.budget(processors())
	return &reader.Options{
		Selection: selected, Cgroup: c.Cgroup, Transport: transports[c.Transport],
		DetachAtExit: c.Discovery.ReleaseOnExit, CgroupID: true, Partial: true, MaxEvents: c.Discovery.MaxEvents, Poll: c.Discovery.PollInterval,
		BufferSize: b.ring, ProgramMemory: b.programs, Latency: c.Ring.Latency, Window: c.Ring.ReorderWindow, Reuse: true, Notify: notify,
		ProgramLimit: reader.ProgramLimit{Records: c.ProgramLimit.RecordsPerSecond, Bytes: c.ProgramLimit.KiBPerSecond << 10},
	}, err
}
