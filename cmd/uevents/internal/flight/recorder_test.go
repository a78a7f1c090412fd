package flight

import (
	"log/slog"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// TestCauseKeepsMessage: the message of a trigger stays what it was when the ring's memory has other records.
func TestCauseKeepsMessage(t *testing.T) {
	samples := recordtest.Samples(t, func(t testing.TB, p *uevents.Provider) func() {
		h, err := sloghandler.New("flight", &sloghandler.Options{Provider: p})
		require.NoError(t, err)
		return func() { slog.New(h).Info("slow") }
	})
	require.Len(t, samples, 1)
	ev := record.Record{Process: &record.Process{PID: 812}}
	require.NoError(t, samples[0].Decoder.Decode(samples[0].Raw, &ev))
	cause := causeOf(&ev)
	clear(samples[0].Raw)
	assert.Equal(t, Cause{Event: "user_events:flight_info", Process: record.Process{PID: 812}, Message: "slow"}, cause)
}

// signals are those of all recorders of the tests.
var signals = make(chan os.Signal, 1)

// TestClockSetBack: the wall clock may be set while a recorder waits.
func TestClockSetBack(t *testing.T) {
	r := &Recorder{triggers: make(chan trigger, 2), dumped: 100}
	r.triggers <- trigger{cause: Cause{Event: "before", Monotonic: 100}}
	r.triggers <- trigger{cause: Cause{Event: "after", Monotonic: 101}}
	cause, err := r.Wait(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "after", cause.Event)

	ev := record.Record{Monotonic: 7}
	assert.Equal(t, uint64(7), causeOf(&ev).Monotonic)
	r = &Recorder{o: Options{Signals: signals}}
	signals <- syscall.SIGUSR1
	before := uint64(sys.Monotonic())
	cause, err = r.Wait(t.Context())
	require.NoError(t, err)
	assert.GreaterOrEqual(t, cause.Monotonic, before)
	assert.LessOrEqual(t, cause.Monotonic, uint64(sys.Monotonic()))
}

// TestOldest: the age of what is kept is that of the clock that cannot be set.
func TestOldest(t *testing.T) {
	cause := Cause{Monotonic: uint64(time.Minute)}
	assert.Equal(t, uint64(50*time.Second), (&Recorder{o: Options{Keep: 10 * time.Second}}).oldest(&cause))
	assert.Zero(t, (&Recorder{o: Options{Keep: time.Hour}}).oldest(&cause), "the machine has just started")
	assert.Zero(t, new(Recorder).oldest(&cause))
}

// TestTriggerOptions: what limits the events that are kept limits those that trigger.
func TestTriggerOptions(t *testing.T) {
	o := Options{
		Reader: reader.Options{
			Selection: reader.Selection{Events: []string{"a"}, Excludes: []string{"a_x"}, Processes: []int{1}, Where: condition("kept == 1")}, Cgroup: "/sys/fs/cgroup/x", NoFollow: true, MaxEvents: 7,
			BufferSize: 1 << 20, Callchain: true, Reuse: true,
		},
		Trigger: condition("n > 1"),
	}
	want := reader.Options{
		Selection: reader.Selection{Events: []string{"a"}, Excludes: []string{"a_x"}, Processes: []int{1}, Where: o.Trigger}, Cgroup: "/sys/fs/cgroup/x", NoFollow: true, MaxEvents: 7,
		BufferSize: triggerRing,
	}
	assert.Equal(t, want, o.triggerReader())
	o.TriggerEvents, want.Events = []string{"b"}, []string{"b"}
	assert.Equal(t, want, o.triggerReader())
}

// condition parses a condition that is right.
func condition(text string) *where.Condition {
	c, err := where.Parse(text)
	if err != nil {
		panic(err)
	}
	return c
}

func TestParseRate(t *testing.T) {
	at := time.Unix(5, 0)
	for s, want := range map[string]struct {
		n   int
		per time.Duration
	}{"2/h": {2, time.Hour}, "10/m": {10, time.Minute}, "1/90s": {1, 90 * time.Second}, "3/s": {3, time.Second}} {
		l, err := ParseRate(s)
		require.NoError(t, err, s)
		for _, after := range []time.Duration{0, want.per, 10 * want.per} { // what was not used does not add up
			assert.True(t, l.AllowN(at.Add(after), want.n), s)
			assert.False(t, l.AllowN(at.Add(after), 1), s)
		}
		assert.False(t, l.AllowN(at.Add(10*want.per+want.per/time.Duration(want.n)*9/10), 1), s)
		assert.True(t, l.AllowN(at.Add(10*want.per+want.per/time.Duration(want.n)*11/10), 1), s)
	}
	for _, s := range []string{"", "2", "/h", "0/h", "-1/h", "2/", "2/x", "x/h", "2/-1h", "2/0s"} {
		_, err := ParseRate(s)
		assert.ErrorContains(t, err, "rate", s)
	}
}

// FuzzParseRate: a rate that is accepted lets actions pass, and no more than it says.
func FuzzParseRate(f *testing.F) {
	for _, s := range []string{"2/h", "10/m", "1/90s", "1/", "/s", "9223372036854775807/1ns", "1/2562047h", "-1/s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseRate(s)
		if err != nil {
			require.Nil(t, l)
			return
		}
		require.True(t, l.Burst() > 0 && l.Limit() > 0, s)
		now := time.Unix(1e9, 0)
		require.True(t, l.AllowN(now, 1), s)
		passed := 1
		for range 10 {
			if l.AllowN(now, 1) {
				passed++
			}
		}
		require.LessOrEqual(t, passed, l.Burst(), s)
	})
}
