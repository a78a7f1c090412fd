package reader

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/perf"
)

// ErrTooManyEvents reports events beyond Options.MaxEvents. Errors of [Open] and of notices wrap it.
var ErrTooManyEvents = errors.New("too many events")

// tooMany is the notice of an event beyond the limit. The text also holds for several names.
func tooMany(limit int, of, event string) Notice {
	return Notice{
		Kind: NoticeFailed, Event: event, Err: fmt.Errorf("%w: %d %sare attached already, without %s", ErrTooManyEvents, limit, of, event),
	}
}

// spareDescriptors is the part of the descriptors that Options.Partial leaves to others.
const spareDescriptors = 8

// checkLimits returns an error if so many events cannot be attached, or with Options.Partial if none can. It is called before the first one is.
func (r *Reader) checkLimits(events int) error {
	r.most = r.o.MaxEvents
	if r.most > 0 && events > r.most && !r.o.Partial {
		return fmt.Errorf("%d events match, and at most %d are allowed: %w", events, r.most, ErrTooManyEvents)
	}
	st, err := r.session.Stats()
	if err != nil {
		return err
	}
	rings := 0
	if r.o.Read != ReadCounts && st.Rings == 0 {
		rings = st.CPUs
	}
	need := events*st.CPUs + rings
	if fits := (st.Descriptors - st.Descriptors/spareDescriptors - rings) / st.CPUs; r.o.Partial && fits > 0 {
		if r.most == 0 || fits < r.most {
			r.most, r.fewDescriptors = fits, true
		}
		need = min(events, r.most)*st.CPUs + rings
	}
	r.errorRings = need+st.CPUs <= st.Descriptors && r.o.Read == ReadStream
	if need > st.Descriptors {
		return fmt.Errorf("%d events on %d CPUs need %d descriptors, and %d are left; select fewer events or raise RLIMIT_NOFILE (ulimit -n): %w",
			events, st.CPUs, need, st.Descriptors, errno.EMFILE)
	}
	return nil
}

// leftOut says since when there is no room for an event, and when it was last there to ask for it.
type leftOut struct{ since, asked time.Time }

// forgetLeftOut is after how long without the event its name may be forgotten.
const forgetLeftOut = time.Minute

// hasRoom reports whether another event of the kernel may be attached. The caller holds mu.
func (r *Reader) hasRoom() bool { return r.most == 0 || len(r.attached)+len(r.attachedAdded) < r.most }

// leaveOut notes that there is no room for an event, and returns what match returns then. With Options.Partial it is looked at again. The
// caller holds mu.
func (r *Reader) leaveOut(event string) *perf.AttachOptions {
	n := tooMany(r.most, "", event)
	if r.fewDescriptors {
		n.Err = fmt.Errorf("%w; raise RLIMIT_NOFILE (ulimit -n): %w", n.Err, errno.EMFILE)
	}
	r.notifyLocked(n)
	now := time.Now()
	if len(r.leftOut) >= maxKinds { // programs make up names
		maps.DeleteFunc(r.leftOut, func(_ string, l leftOut) bool { return now.Sub(l.asked) > forgetLeftOut })
	}
	if !r.o.Partial || len(r.leftOut) >= maxKinds {
		return nil
	}
	if r.leftOut == nil {
		r.leftOut = map[string]leftOut{}
	}
	r.leftOut[event] = leftOut{now, now}
	return &perf.AttachOptions{Later: true}
}

// isLeftOut reports whether there was no room for an event, and still is none.
func (r *Reader) isLeftOut(event string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.leftOut[event]
	if !ok || r.hasRoom() {
		return false
	}
	l.asked = time.Now()
	r.leftOut[event] = l
	return true
}

// leftOutFor returns for how long there was no room for an event. The caller holds mu.
func (r *Reader) leftOutFor(event string) time.Duration {
	l, ok := r.leftOut[event]
	if !ok {
		return 0
	}
	delete(r.leftOut, event)
	return time.Since(l.since)
}
