package usereventsreceiver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver"
	"go.uber.org/zap"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
)

// session collects events for the receivers of one configuration. One goroutine moves records from the rings to the
// queue, another one decodes, converts and delivers them.
type session struct {
	cfg       *Config
	open      opener
	logger    *zap.Logger
	telemetry *metadata.TelemetryBuilder
	status    status
	outputs   outputs
	queue     *queue
	forget    func()
	lost      lostCounts

	stopping chan struct{} // closed by Shutdown
	done     chan struct{} // closed when all is delivered
	ctx      context.Context
	cancel   context.CancelFunc // ends deliveries
	start    sync.Once
	stop     sync.Once

	mu      sync.Mutex
	started bool   // guarded by mu
	source  source // the open one; guarded by mu
}

func newSession(set receiver.Settings, cfg *Config, open opener) (*session, error) {
	t, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	s := &session{
		cfg: cfg, open: open, logger: set.Logger, telemetry: t, queue: newQueue(cfg.Queue.SizeMiB << 20),
		stopping: make(chan struct{}), done: make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.outputs.init()
	s.outputs.retry = newRetry(cfg.Retry, s.ctx.Done())
	s.outputs.logger, s.outputs.telemetry = set.Logger, t
	return s, nil
}

// Start begins to collect events. It returns before that succeeds: while something is missing, the session reports that
// as its status and tries again.
func (s *session) Start(_ context.Context, host component.Host) (err error) {
	s.status.add(host)
	s.start.Do(func() {
		if err = s.observe(); err != nil {
			return
		}
		s.mu.Lock()
		s.started = true
		s.mu.Unlock()
		go s.collect()
		go func() {
			defer close(s.done)
			newWorker(s).run()
		}()
	})
	return err
}

// Shutdown disables the events, reads and delivers the records written before, and detaches. Data that a consumer refuses
// meanwhile is delivered again for at most 5 seconds. When ctx ends, all that is not delivered is dropped and counted.
func (s *session) Shutdown(ctx context.Context) (err error) {
	s.stop.Do(func() { err = s.shutDown(ctx) })
	return err
}

const (
	shutdownRetry    = 5 * time.Second // retries during Shutdown
	shutdownPatience = time.Second     // for a consumer to return after its context has ended
)

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
	select {
	case <-s.done:
		return err
	case <-ctx.Done():
	}
	s.cancel()
	select {
	case <-s.done:
		return errors.Join(err, fmt.Errorf("data that was not delivered is dropped: %w", ctx.Err()))
	case <-time.After(shutdownPatience):
		return errors.Join(err, fmt.Errorf("a consumer does not return: %w", ctx.Err()))
	}
}

// collect reads events into the queue until Shutdown. It opens a source again when that fails.
func (s *session) collect() {
	defer s.queue.close()
	for {
		src, err := s.openSource()
		if err == nil {
			err = s.drain(src)
			s.closeSource(src)
		}
		select {
		case <-s.stopping:
			return
		default:
		}
		if s.status.set(err) {
			s.logger.Error("cannot read events", zap.Error(err), zap.Duration("next_attempt", s.cfg.Discovery.RetryInterval))
		}
		select {
		case <-s.stopping:
			return
		case <-time.After(s.cfg.Discovery.RetryInterval):
		}
	}
}

// openSource opens a source. Shutdown stops it, or has stopped it.
func (s *session) openSource() (source, error) {
	o, err := s.cfg.readerOptions(s.notice)
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
	s.lost.begin()
	select {
	case <-s.stopping: // Shutdown found no source. Records that were written since it was opened are read all the same.
		if err := src.Stop(); err != nil {
			s.source = nil
			return nil, errors.Join(err, src.Close())
		}
		return src, nil
	default:
	}
	if s.status.set(nil) {
		s.logger.Info("reading events")
	}
	return src, nil
}

// closeSource closes a source, and counts the records that were left unread.
func (s *session) closeSource(src source) {
	s.mu.Lock()
	s.source = nil
	s.mu.Unlock()
	err := src.Stop()
	unread, statsErr := src.Stats() // by event
	err = errors.Join(err, statsErr, src.Close())
	final, statsErr := src.Stats()
	if err = errors.Join(err, statsErr); err != nil {
		s.logger.Error("closing events", zap.Error(err))
	}
	s.countUnread(&unread, &final)
}
