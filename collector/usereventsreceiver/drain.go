package usereventsreceiver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/userevents/userevents-go/reader"
)

// drain moves records from a source to the queue. While the queue is full it reads none, so that the kernel counts the
// records that its rings have no room for. It returns nil when the source was stopped and all is read, or when Shutdown
// does not wait for the rest.
func (s *session) drain(src source) error {
	var ev reader.Event
	src.SetDeadline(time.Now().Add(checkInterval))
	for {
		switch err := src.Next(&ev); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if err := s.check(src); err != nil {
				return err
			}
			src.SetDeadline(time.Now().Add(checkInterval))
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		for !s.queue.put(&ev) {
			if !s.waitForRoom(src) {
				s.outputs.drop(ev.System+":"+ev.Name, reasonShutdown, 1)
				return nil
			}
		}
	}
}

// checkInterval is how often the state of the rings is checked.
const checkInterval = 10 * time.Second

// check reports a processor whose records are not read as the status of the session.
func (s *session) check(src source) error {
	st, err := src.Stats()
	if err != nil {
		return err
	}
	if err := st.CPUErr; err != nil {
		err = fmt.Errorf("the records of a processor that came online are not read: %w", err)
		if s.status.set(err) {
			s.logger.Error("a processor is missing", zap.Error(err))
		}
		return nil
	}
	s.status.set(nil)
	return nil
}

// noticeInterval is how often notices are delivered while the queue is full.
const noticeInterval = time.Second

// waitForRoom waits until the queue has room. It reports whether that may be so.
func (s *session) waitForRoom(src source) bool {
	t := time.NewTimer(noticeInterval)
	defer t.Stop()
	for {
		select {
		case <-s.queue.room:
			return true
		case <-s.ctx.Done():
			return false
		case <-t.C:
			src.CheckNotices()
			t.Reset(noticeInterval)
		}
	}
}
