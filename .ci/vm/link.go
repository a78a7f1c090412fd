package main

import (
	"context"
	"fmt"
	"net"
	"time"
)

// link is the host's end of the stream.
type link struct {
	frames chan frame // closed when the guest hangs up
	stop   chan byte  // asks the guest to stop what it does, see stream.go
}

// serve passes frames on from the one guest that connects, until it hangs up.
func (l link) serve(ctx context.Context, listener net.Listener, mark string) {
	defer close(l.frames)
	conn, err := listener.Accept()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	go func() {
		for {
			select {
			case turn := <-l.stop:
				_, _ = conn.Write([]byte{turn}) // a guest that cannot hear is stopped anyway
			case <-ctx.Done():
				return
			}
		}
	}()
	reader := frameReader{r: conn, mark: mark}
	for {
		f, err := reader.next()
		if err != nil {
			return // frameDone, or its absence, says whether this is the proper end
		}
		select {
		case l.frames <- f:
		case <-ctx.Done():
			return
		}
	}
}

// follow hands frames over until the guest is done, hangs up or hangs.
func (l link) follow(lim limits, handle func(frame) error) (ending, error) {
	var end ending
	start := time.Now()
	clock := time.NewTimer(lim.boot)
	defer clock.Stop()
	var total <-chan time.Time
	if lim.total > 0 {
		total = time.After(lim.total)
	}
	turn := byte(0) // which test binary runs
	asked := 0      // how often it was asked to stop
	for {
		select {
		case f, open := <-l.frames:
			switch {
			case !open:
				end.failure = "the guest stopped before its work was done"
				return end, nil
			case f.Kind == frameDone:
				end.finished = true
				l.stop <- turn
				return end, nil
			case f.Kind == frameReady:
				end.bootTime = time.Since(start)
			case f.Kind == frameExit:
				asked = 0
				turn++
			}
			if err := handle(f); err != nil {
				return end, err
			}
			clock.Stop()
			switch {
			case asked > 0:
				clock.Reset(lim.answer)
			case lim.silence > 0:
				clock.Reset(lim.silence)
			}
		case <-clock.C:
			switch {
			case end.bootTime == 0:
				end.failure = fmt.Sprintf("the guest did not come up within %v", lim.boot)
				return end, nil
			case asked == 2:
				end.failure = fmt.Sprintf("the guest hung: it printed nothing for %v and did not stop its tests", lim.silence)
				return end, nil
			}
			asked++
			l.stop <- turn
			clock.Reset(lim.answer)
		case <-total:
			end.failure = fmt.Sprintf("the guest was not done after %v", lim.total)
			return end, nil
		}
	}
}
