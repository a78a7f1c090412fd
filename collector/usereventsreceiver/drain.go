package usereventsreceiver

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/userevents/userevents-go/reader"
)

// drain moves records from a source to the queue. While the queue is full it reads none, so that those are counted as lost
// that the rings have no room for. It returns nil when the source was stopped and all is read, or when Shutdown
// does not wait for the rest.
func (s *session) drain(src source) error {
	if _, err := s.check(src); err != nil {
		return err
	}
	var ev reader.Event
	src.SetDeadline(time.Now().Add(s.nextCheck()))
	for {
		switch err := src.Next(&ev); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			more, err := s.check(src)
			if more {
				err = src.Stop()
			}
			if err != nil {
				return err
			}
			src.SetDeadline(time.Now().Add(s.nextCheck()))
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
