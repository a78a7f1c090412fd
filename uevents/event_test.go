package uevents_test

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

func buffer(payload string) []byte { return append(make([]byte, uevents.IndexSize), payload...) }

func mustRegister(t *testing.T, p *uevents.Provider, command string, o *uevents.EventOptions) *uevents.Event {
	t.Helper()
	ev, err := p.Register(declare(t, command), o)
	require.NoError(t, err)
	return ev
}

func TestEvent(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		p, name := w.provider(t), newName()
		require.NoError(t, p.Err())
		ev := mustRegister(t, p, name+" u32 a", nil)
		assert.Equal(t, name, ev.Name())
		assert.Equal(t, tracepoint.MaxPayload, ev.MaxPayload())
		assert.False(t, ev.Enabled())
		notWritten(t, nil, ev, buffer("1234"))
		assert.Zero(t, ev.Stats(), "calls while no tool is attached are free, and so not counted")

		tr := w.attach(t, ueventstest.Ftrace, name)
		require.True(t, ev.Enabled())
		mustWrite(t, ev, buffer("1234"))
		notWritten(t, uevents.ErrShortBuffer, ev, buffer("123"))
		notWritten(t, uevents.ErrShortBuffer, ev, nil)
		mustWrite(t, ev, buffer(strings.Repeat("x", tracepoint.MaxPayload)))
		notWritten(t, uevents.ErrTooLarge, ev, buffer(strings.Repeat("x", tracepoint.MaxPayload+1)))
		got := tr.payloads(t)
		require.Len(t, got, 2)
		assert.Equal(t, "1234", string(got[0][:4]))
		assert.Equal(t, uevents.EventStats{Written: 2, Refused: 3}, ev.Stats())

		tr.detach()
		assert.False(t, ev.Enabled())
		w.attach(t, ueventstest.Perf, name)
		assert.True(t, ev.Enabled())
		require.NoError(t, ev.Close())
		assert.False(t, ev.Enabled())
		notWritten(t, uevents.ErrClosed, ev, buffer("1234"))
		notWritten(t, fs.ErrClosed, ev, buffer("1234"))
		assert.NoError(t, ev.Close(), "twice")

		again := mustRegister(t, p, name+" u32 a", nil)
		assert.True(t, again.Enabled(), "a tool is attached")
		require.NoError(t, p.Close())
		assert.False(t, again.Enabled())
		notWritten(t, uevents.ErrClosed, again, buffer("1234"))
		assert.NoError(t, p.Close(), "twice")
		late, err := p.Register(declare(t, name+" u32 a"), nil)
		assert.ErrorIs(t, err, uevents.ErrClosed)
		require.NotNil(t, late)
		assert.False(t, late.Enabled())
		assert.NoError(t, late.Close())
	})
}

func TestEventWithoutFields(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		ev := mustRegister(t, w.provider(t), newName(), nil)
		for _, kind := range []ueventstest.Kind{ueventstest.Ftrace, ueventstest.Perf} {
			tr := w.attach(t, kind, ev.Name())
			mustWrite(t, ev, make([]byte, uevents.IndexSize))
			assert.Len(t, tr.payloads(t), 1)
			tr.detach()
		}
	})
}

func TestEventBadText(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		ev := mustRegister(t, w.provider(t), newName()+" __rel_loc char[] msg", nil)
		tr := w.attach(t, ueventstest.Ftrace, ev.Name())
		_, err := ev.WriteRecord(buffer("\xff\xff\xff\xffno location"))
		var e *uevents.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, ev.Name(), e.Name)
		assert.ErrorIs(t, err, errno.EFAULT)
		assert.ErrorContains(t, err, "end in a NUL", "what to do")
		assert.Empty(t, tr.payloads(t))
		assert.EqualValues(t, 1, ev.Stats().Refused)
	})
}

func TestRegisterRefuses(t *testing.T) {
	long := strings.Repeat("a", 600)
	bad := []tracepoint.Declaration{
		{},
		{Name: "a/b"},
		{Name: "a b"},
		{Name: "a\nb"},
		{Name: "a\x00b"},
		{Name: "../x"},
		{Name: "é"},
		{Name: "1a"},
		{Name: long},
		{Name: "ok", Fields: []tracepoint.Field{{Name: "f"}}},
		{Name: "ok", Fields: []tracepoint.Field{{Name: "a;b", Type: tracepoint.Scalar(tracepoint.U8)}}},
		{Name: "ok", Fields: []tracepoint.Field{{Name: long, Type: tracepoint.Scalar(tracepoint.U8)}}},
		{Name: "ok", Fields: []tracepoint.Field{{Name: "f", Type: tracepoint.Type{Kind: 200}}}},
		{Name: "ok", Fields: []tracepoint.Field{{Name: "f", Type: tracepoint.Array(tracepoint.Char, 1025)}}},
	}
	eachWorld(t, func(t *testing.T, w world) {
		p := w.provider(t)
		for _, d := range bad {
			ev, err := p.Register(d, nil)
			require.ErrorIs(t, err, tracepoint.ErrInvalid, "%q", d.Name)
			require.NotNil(t, ev)
			assert.False(t, ev.Enabled())
			notWritten(t, nil, ev, make([]byte, 100))
			assert.NoError(t, ev.Close())
		}
		assert.ErrorIs(t, p.Delete("a/b"), tracepoint.ErrInvalid)
	})
}

func TestNaming(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		name := newName()
		one, two := name+" u32 a", name+" u64 a"

		old, p := w.provider(t), w.provider(t)
		mustRegister(t, old, one, nil)
		ev, err := p.Register(declare(t, two), nil)
		require.ErrorIs(t, err, uevents.ErrConflict)
		assert.ErrorContains(t, err, `"u32 a"`, "what the kernel has")
		assert.ErrorContains(t, err, "NameHashedOnConflict", "what to do")
		assert.False(t, ev.Enabled())

		hash := &uevents.EventOptions{Naming: uevents.NameHashedOnConflict}
		h1, h2 := mustRegister(t, old, one, hash), mustRegister(t, p, two, hash)
		assert.Equal(t, name, h1.Name())
		assert.Regexp(t, "^"+name+"_[0-9a-f]{8}$", h2.Name())
		assert.Equal(t, h2.Name(), mustRegister(t, old, two, hash).Name(), "the same fields, the same name")
		tr := w.attach(t, ueventstest.Ftrace, h2.Name())
		assert.True(t, h2.Enabled())
		assert.False(t, h1.Enabled())
		tr.detach()
	})
}

// TestHashedNameIsStable pins the hash: all releases of the library must agree on a node.
func TestHashedNameIsStable(t *testing.T) {
	p := newSimulated(t, uevents.ABIEnableAddress).provider(t)
	mustRegister(t, p, "req", nil)
	ev := mustRegister(t, p, "req u16 status; __rel_loc char[] route", &uevents.EventOptions{Naming: uevents.NameHashedOnConflict})
	assert.Equal(t, "req_d098dc39", ev.Name())
}

func TestDelete(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		p := w.provider(t)
		ev := mustRegister(t, p, newName(), nil)
		err := p.Delete(ev.Name())
		assert.ErrorIs(t, err, errno.EBUSY)
		assert.ErrorContains(t, err, "detach the tools, and close the providers", "what to do")
		require.NoError(t, ev.Close())
		assert.ErrorIs(t, p.Delete(ev.Name()), errno.EBUSY, "the provider's descriptor holds the event")
		require.NoError(t, p.Close())
		assert.ErrorIs(t, p.Delete(ev.Name()), uevents.ErrClosed)
		other := w.provider(t)
		if p.ABI() != uevents.ABIEnableAddress { // these kernels keep the event
			testscale.Eventually(t, func() bool { return other.Delete(ev.Name()) == nil }, "the kernel does not let go of %s", ev.Name())
		}
		gone(t, w, ev.Name())
		assert.ErrorIs(t, other.Delete(ev.Name()), fs.ErrNotExist)
	})
}

func TestNoLimit(t *testing.T) {
	for _, limit := range []int{-1, math.MinInt, math.MaxInt} {
		p, err := uevents.Open(&uevents.Options{Path: "/nonexistent", MaxPayload: limit})
		require.Error(t, err)
		ev, err := p.Register(declare(t, newName()), nil)
		require.Error(t, err)
		assert.Equal(t, math.MaxInt-uevents.IndexSize, ev.MaxPayload(), "what a slice can hold")
	}
}

// TestUnavailable: a constructor always returns something that works.
func TestUnavailable(t *testing.T) {
	p, err := uevents.Open(&uevents.Options{Path: t.TempDir()})
	require.Error(t, err)
	require.NotNil(t, p)
	assert.Equal(t, err, p.Err())
	assert.Equal(t, uevents.ABIUnknown, p.ABI())
	g := p.NewGroup()
	ev, regErr := p.Register(declare(t, "some_event u8 a"), &uevents.EventOptions{Groups: []*uevents.Group{g}})
	require.Error(t, regErr)
	assert.ErrorIs(t, regErr, errors.Unwrap(err), "the reason is not lost")
	assert.Equal(t, 1, strings.Count(regErr.Error(), "uevents: "), "one sentence: %v", regErr)
	assert.False(t, ev.Enabled())
	assert.False(t, g.Enabled())
	notWritten(t, nil, ev, buffer("x"))
	assert.Error(t, p.Delete("some_event"))
	assert.NoError(t, ev.Close())
	assert.NoError(t, p.Close())
	assert.NoError(t, p.Close())
}

// TestZeroProvider: a provider that no Open made, nil or not, is one that is not available.
func TestZeroProvider(t *testing.T) {
	for range 2 { // Close changes nothing
		for _, p := range []*uevents.Provider{nil, new(uevents.Provider)} {
			require.ErrorContains(t, p.Err(), "provider is nil or does not come from uevents.Open")
			assert.Equal(t, uevents.ABIUnknown, p.ABI())
			assert.Equal(t, tracepoint.MaxPayload, p.MaxPayload())
			g := p.NewGroup()
			ev, err := p.Register(declare(t, "some_event u8 a"), in(g))
			assert.ErrorIs(t, err, p.Err())
			assert.ErrorContains(t, err, "some_event")
			assert.Equal(t, tracepoint.MaxPayload, ev.MaxPayload())
			assert.False(t, ev.Enabled() || g.Enabled())
			notWritten(t, nil, ev, buffer("x"))
			assert.NoError(t, ev.Close())
			assert.ErrorIs(t, p.Delete("some_event"), p.Err())
			assert.NoError(t, p.Close())
		}
	}
}

func TestAllocations(t *testing.T) {
	testscale.CountAllocations(t)
	eachWorld(t, func(t *testing.T, w world) {
		p := w.provider(t)
		g := p.NewGroup()
		ev := mustRegister(t, p, newName(), &uevents.EventOptions{Groups: []*uevents.Group{g}})
		buf := buffer("payload")
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = ev.Enabled() || g.Enabled() }))
		assert.Zero(t, testing.AllocsPerRun(100, func() { _, _ = ev.WriteRecord(buf) }), "disabled")
		if _, ok := w.(simulated); ok {
			return // recording in the same process allocates
		}
		w.attach(t, ueventstest.Ftrace, ev.Name())
		assert.Zero(t, testing.AllocsPerRun(100, func() { mustWrite(t, ev, buf) }), "traced")
		empty, large := buffer(""), make([]byte, 5000)
		assert.Zero(t, testing.AllocsPerRun(100, func() { mustWrite(t, ev, empty) }))
		assert.Zero(t, testing.AllocsPerRun(100, func() { _, _ = ev.WriteRecord(large) }))
	})
}

// TestConcurrentClose closes providers and events while others register, ask and write.
func TestConcurrentClose(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		name := newName()
		for range 20 {
			p := w.provider(t)
			g := p.NewGroup()
			first := mustRegister(t, p, name, &uevents.EventOptions{Groups: []*uevents.Group{g}})
			tr := w.attach(t, ueventstest.Ftrace, name)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for range 10 {
						ev, err := p.Register(declare(t, name), &uevents.EventOptions{Groups: []*uevents.Group{g}})
						if err != nil {
							assert.ErrorIs(t, err, uevents.ErrClosed)
						}
						if _, err := ev.WriteRecord(buffer("x")); err != nil {
							assert.ErrorIs(t, err, uevents.ErrClosed)
						}
						_ = g.Enabled()
						assert.NoError(t, ev.Close())
					}
				})
			}
			wg.Go(func() { assert.NoError(t, first.Close()) })
			wg.Go(func() { assert.NoError(t, p.Close()) })
			wg.Wait()
			assert.False(t, first.Enabled())
			assert.False(t, g.Enabled())
			tr.detach()
		}
	})
}

// mustWrite writes a record to an event that is enabled.
func mustWrite(t *testing.T, ev *uevents.Event, rec []byte) {
	t.Helper()
	written, err := ev.WriteRecord(rec)
	require.NoError(t, err)
	require.True(t, written)
}

// notWritten writes a record to an event that does not take it, for the reason want; nil: the event is disabled.
func notWritten(t *testing.T, want error, ev *uevents.Event, rec []byte) {
	t.Helper()
	written, err := ev.WriteRecord(rec)
	assert.ErrorIs(t, err, want)
	assert.False(t, written)
}

func TestReportString(t *testing.T) {
	findings := []uevents.Finding{{What: "tracefs", Result: "not mounted", Remedy: "mount it"}, {What: "kernel", Result: "6.12"}}
	r := &uevents.Report{Transport: uevents.TransportKernel, ABI: uevents.ABIStatusBit, DataFile: "/data", Findings: findings}
	assert.Equal(t, "events: kernel (status bit, /data)\n  tracefs:       not mounted\n                 -> mount it\n  kernel:        6.12\n", r.String())
	r = &uevents.Report{Transport: uevents.TransportOff, Err: uevents.ErrNotSupported}
	assert.Equal(t, "events: user_events are not supported\n", r.String())
}

// envBubble makes TestBubble run in a process that has registered nothing yet, and whose first registration is "inside" a bubble
// or "outside".
const envBubble = "USER_EVENTS_TEST_BUBBLE"

// TestBubble: programs register, write and close in a bubble of testing/synctest, whose time passes only while all
// its goroutines wait. The first registration of a process is one of a bubble or not, and later ones are in others and outside.
func TestBubble(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		if os.Getenv(envBubble) == "" {
			_, name, _ := strings.Cut(t.Name(), "/")
			for _, first := range []string{"inside", "outside"} {
				cmd := exec.Command(os.Args[0], "-test.run=^TestBubble$/^"+name+"$", "-test.v")
				cmd.Env = append(os.Environ(), envBubble+"="+first, "GOTRACEBACK=system") // which makes stack traces longer
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s", out)
				require.Contains(t, string(out), "--- PASS: "+t.Name())
				t.Logf("%s", out)
			}
		}
		if os.Getenv(envBubble) == "outside" {
			p := w.provider(t)
			ev := mustRegister(t, p, newName(), nil)
			outside := w.attach(t, ueventstest.Ftrace, ev.Name())
			synctest.Test(t, func(*testing.T) {
				began := time.Now()
				time.Sleep(time.Hour)                         //nolint:forbidigo // in a synctest bubble
				assert.Equal(t, time.Hour, time.Since(began)) //nolint:forbidigo // in a synctest bubble
				mustWrite(t, ev, buffer("1234"))
			})
			assert.Len(t, outside.payloads(t), 1)
			outside.detach()
		}
		use := func(t *testing.T) {
			p := w.provider(t)
			ev := mustRegister(t, p, newName(), nil)
			tr := w.attach(t, ueventstest.Ftrace, ev.Name())
			began := time.Now()
			time.Sleep(time.Hour)                                                  //nolint:forbidigo // in a synctest bubble
			assert.Equal(t, time.Hour, time.Since(began), "a timer of the bubble") //nolint:forbidigo // in a synctest bubble
			mustWrite(t, ev, buffer("1234"))
			assert.Len(t, tr.payloads(t), 1)
			tr.detach()
			require.NoError(t, ev.Close())
		}
		for range 2 {
			synctest.Test(t, use)
		}
		outer := w.provider(t)
		before := mustRegister(t, outer, newName(), nil)
		synctest.Test(t, func(t *testing.T) {
			use(t)
			require.NoError(t, before.Close(), "an event from outside")
			mustRegister(t, outer, newName(), nil)
		})
		require.NoError(t, outer.Close(), "events of a bubble")
	})
}

// TestBubbleConflict: the wait for the kernel to remove an event takes the kernel's time and not that of a bubble, which would
// stand still while a second goroutine waits for the first one.
func TestBubbleConflict(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		synctest.Test(t, func(t *testing.T) {
			name := newName()
			mustRegister(t, w.provider(t), name+" u8 a", nil)
			p, began := w.provider(t), time.Now()
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					_, err := p.Register(declare(t, name+" u16 a"), &uevents.EventOptions{Naming: uevents.NameExact})
					assert.ErrorIs(t, err, uevents.ErrConflict)
				})
			}
			wg.Wait()
			assert.Zero(t, time.Since(began)) //nolint:forbidigo // in a synctest bubble
		})
	})
}
