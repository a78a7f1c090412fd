//go:build linux && !386 && !arm && !mips && !mipsle

package attach

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// expire ends the session of the tool as a program does whose rings are full: it takes the session's bits away.
func (f *fake) expire() {
	f.control.Claimed.Store(0)
	f.control.Requests[0].Store(0)
	f.control.Words[0].Store(0)
}

// assertEnabled checks that the program sees the session and the enabled event.
func (f *fake) assertEnabled(t *testing.T) {
	t.Helper()
	assert.EqualValues(t, 1, f.control.Claimed.Load(), "the session, of which the program enables new events")
	assert.EqualValues(t, 1, f.control.Requests[0].Load())
	assert.EqualValues(t, 1, f.control.Words[0].Load())
}

// TestRenew: a session that the program has ended has all that it had before after the next call of Renew, which tells once for how long
// the events were disabled.
func TestRenew(t *testing.T) {
	f, _, s := attached(t)
	expires := &f.control.Sessions[0].Expires
	const d = 10 * time.Second
	renew := func() (disabled, atLeast, atMost time.Duration) {
		was := time.Duration(expires.Load())
		began := time.Duration(Now())
		disabled = s.Renew(d)
		ended := time.Duration(Now())
		assert.GreaterOrEqual(t, time.Duration(expires.Load()), began+d)
		assert.LessOrEqual(t, time.Duration(expires.Load()), ended+d)
		return disabled, began - was, ended - was
	}
	for range 2 { // not once only
		expires.Store(Now() - uint64(3*time.Second))
		f.expire()
		disabled, atLeast, atMost := renew()
		assert.GreaterOrEqual(t, disabled, atLeast)
		assert.LessOrEqual(t, disabled, atMost)
		f.assertEnabled(t)
		disabled, _, _ = renew()
		assert.Zero(t, disabled, "it is said once")
	}

	// The program has asked whether the session has expired, then the tool renewed it, then the program took the bits away.
	expires.Store(Now() + uint64(4*time.Second))
	f.expire()
	disabled, atLeast, atMost := renew()
	assert.GreaterOrEqual(t, disabled, atLeast+d)
	assert.LessOrEqual(t, disabled, atMost+d)
	f.assertEnabled(t)
}

// TestLimited: Limited returns the time to the next second while an event is disabled until then, and 0 as soon as none is.
func TestLimited(t *testing.T) {
	f, number, p := lockedFake(t)
	p.update([]Candidate{ownLock(number)})
	var src *Source
	p.Sources(func(s *Source) { src = s })
	require.NotNil(t, src)
	limited := func() time.Duration {
		p.Poll()
		return p.Limited()
	}
	assert.Zero(t, limited())
	for range 2 {
		src.Pause()
		assert.Zero(t, f.control.Requests[0].Load())
		src.limited.since = Now() + uint64(time.Hour) // its second is not over
		over := src.limited.since + uint64(time.Second)
		assert.NotZero(t, limited())
		assert.LessOrEqual(t, limited(), time.Hour+time.Second)
		assert.Zero(t, p.limited%uint64(time.Second), "the second of the program's clock")
		assert.LessOrEqual(t, p.limited, over)
		assert.Zero(t, f.control.Requests[0].Load())
		src.limited.since = 1
		assert.Zero(t, limited())
		f.assertEnabled(t)
	}
	times, _ := src.Limited()
	assert.EqualValues(t, 2, times)
}

// TestEnabled: an event is enabled when all its enable bits are set, and not when a tool has requested it.
func TestEnabled(t *testing.T) {
	f, p, _ := attached(t)
	assert.Equal(t, map[uint32]bool{0: true}, p.Enabled())
	f.data.InUse.Store(math.MaxUint32)
	f.data.Gates[1][63].Store(1)
	f.data.Gates[2][5].Store(7)
	f.data.Gates[3][0].Store(math.MaxUint32)
	assert.Equal(t, map[uint32]bool{0: false, 6: false}, p.Enabled())
	f.control.Words[1].Store(1 << 63)
	assert.Equal(t, map[uint32]bool{0: true, 6: false}, p.Enabled())
	f.control.Words[0].Store(0)
	f.control.Words[2].Store(1 << 5)
	assert.Equal(t, map[uint32]bool{0: false, 6: true}, p.Enabled())
}
