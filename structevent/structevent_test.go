package structevent_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/structevent"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

type httpRequest struct {
	Method  string        `uevent:"method"`
	Route   string        `uevent:"route"`
	Status  uint16        `uevent:"status"`
	Latency time.Duration `uevent:"latency_ns"`
	Cached  bool          `uevent:"cached"`
}

func provider(t *testing.T) (*ueventstest.Kernel, *uevents.Provider) {
	k, p := recordtest.Kernel(t)
	return k, p
}

func decode(t *testing.T, r ueventstest.Record) typed.Record {
	rec := recordtest.Decode(t, r.Declaration, r.Payload)
	return rec
}

func text(t *testing.T, r ueventstest.Record) string { return decode(t, r).String() }

func TestDefineAndEmit(t *testing.T) {
	k, p := provider(t)
	ev, err := structevent.Define[httpRequest](p, "myapp_http_request", nil)
	require.NoError(t, err)
	assert.Equal(t, "myapp_http_request __data_loc char[] method; __data_loc char[] route; u16 status; s64 latency_ns; u8 cached", ev.Declaration().String())
	ev.Emit(&httpRequest{Method: "GET"}) // disabled
	assert.Zero(t, ev.Stats())

	tr := recordtest.Attach(t, k, ueventstest.Ftrace, ev.Name())
	require.True(t, ev.Enabled())
	ev.Emit(&httpRequest{"GET", "/users/{id}", 200, 1500 * time.Microsecond, true})
	ev.Emit(&httpRequest{Method: "POST", Route: strings.Repeat("/long", 2000)})
	records := tr.Records()
	require.Len(t, records, 2)
	assert.Equal(t, "myapp_http_request: method=GET route=/users/{id} status=200 latency_ns=1500000 cached=1", text(t, records[0]))
	assert.Len(t, records[1].Payload, tracepoint.MaxPayload, "truncated to what tracing tools get")
	assert.Contains(t, text(t, records[1]), "/long/l", "and still there")
	ev.Emit(&httpRequest{})
	assert.EqualValues(t, 1, ev.Stats().Truncated)
	assert.EqualValues(t, 3, ev.Stats().Written)
}

func TestDefineRefuses(t *testing.T) {
	k, p := provider(t)
	type inner struct{ Ch chan int }
	type outer struct {
		OK    int
		Inner inner
	}
	ev, err := structevent.Define[outer](p, "myapp_bad", nil)
	require.ErrorIs(t, err, tracepoint.ErrInvalid)
	assert.ErrorContains(t, err, "Inner.Ch")
	assert.False(t, ev.Enabled())
	ev.Emit(&outer{})
	assert.NoError(t, ev.Close())
	assert.Equal(t, "myapp_bad", ev.Name())
	assert.Zero(t, ev.Stats())
	assert.NoError(t, ev.Conflict())
	assert.Empty(t, k.Events(), "nothing was registered")

	none, err := structevent.Define[httpRequest](nil, "myapp_http", nil)
	require.ErrorContains(t, err, "provider is nil")
	none.Emit(&httpRequest{})
	assert.False(t, none.Enabled())
	assert.NoError(t, none.Close())

	ok, err := structevent.Define[httpRequest](p, "not a name", nil)
	require.ErrorIs(t, err, tracepoint.ErrInvalid)
	ok.Emit(&httpRequest{})

	require.NoError(t, p.Close())
	late, err := structevent.Define[httpRequest](p, "myapp_late", nil)
	require.ErrorIs(t, err, uevents.ErrClosed)
	late.Emit(&httpRequest{})
}

func TestOptions(t *testing.T) {
	_, p := provider(t)
	g := p.NewGroup()
	ev, err := structevent.Define[httpRequest](p, "myapp_http", &uevents.EventOptions{Groups: []*uevents.Group{g}})
	require.NoError(t, err)
	assert.Equal(t, "myapp_http", ev.Name())
}

// TestRollingUpgrade: the event of an old version of the program, with other fields, does not silence the new one.
func TestRollingUpgrade(t *testing.T) {
	k, p := provider(t)
	old := k.Provider()
	before, err := structevent.Define[struct{ A uint8 }](old, "myapp_http", nil)
	require.NoError(t, err)
	assert.NoError(t, before.Conflict())
	tool := recordtest.Attach(t, k, ueventstest.Perf, "myapp_http")
	defer tool.Detach()
	require.NoError(t, old.Close())

	refused, err := structevent.Define[httpRequest](p, "myapp_http", &uevents.EventOptions{Naming: uevents.NameExact})
	require.ErrorIs(t, err, uevents.ErrConflict)
	assert.False(t, refused.Enabled())
	ev, err := structevent.Define[httpRequest](p, "myapp_http", nil)
	require.NoError(t, err)
	assert.Regexp(t, "^myapp_http_[0-9a-f]{8}$", ev.Name())
	assert.ErrorIs(t, ev.Conflict(), uevents.ErrConflict)
	assert.ErrorContains(t, ev.Conflict(), ev.Name())
	tr := recordtest.Attach(t, k, ueventstest.Ftrace, "myapp_http*")
	ev.Emit(&httpRequest{Method: "GET"})
	assert.Len(t, tr.Records(), 1)
}

// TestEmitNil: a nil pointer writes nothing, disabled and enabled.
func TestEmitNil(t *testing.T) {
	k, p := provider(t)
	ev, err := structevent.Define[httpRequest](p, "myapp_http", nil)
	require.NoError(t, err)
	assert.NotPanics(t, func() { ev.Emit(nil) })
	tr := recordtest.Attach(t, k, ueventstest.Ftrace, "myapp_http")
	assert.NotPanics(t, func() { ev.Emit(nil) })
	assert.Empty(t, tr.Records())
	assert.Zero(t, ev.Stats())
}

func TestConcurrentEmit(t *testing.T) {
	k, p := provider(t)
	ev, err := structevent.Define[httpRequest](p, "myapp_http", nil)
	require.NoError(t, err)
	tr := recordtest.Attach(t, k, ueventstest.Ftrace, ev.Name())
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 100 {
				ev.Emit(&httpRequest{Method: strings.Repeat("m", i), Status: uint16(i)})
			}
		})
	}
	wg.Wait()
	records := tr.Records()
	require.Len(t, records, 800)
	for _, r := range records {
		v := decode(t, r)
		method, _ := v.Lookup("method")
		status, _ := v.Lookup("status")
		assert.Len(t, method.String(), int(status.Uint64()), "no record is made of two")
	}
}

// sink keeps the compiler from optimizing the argument away.
var sink int

func TestAllocations(t *testing.T) {
	testscale.CountAllocations(t)
	k, p := provider(t)
	ev, err := structevent.Define[httpRequest](p, "myapp_http", nil)
	require.NoError(t, err)
	emit := func() {
		ev.Emit(&httpRequest{Method: "GET", Route: "/users/{id}", Status: uint16(sink)})
	}
	assert.Zero(t, testing.AllocsPerRun(100, emit), "disabled")
	recordtest.Attach(t, k, ueventstest.Ftrace, ev.Name())
	assert.Zero(t, testing.AllocsPerRun(100, emit), "enabled")
}

func TestMain(m *testing.M) { leakcheck.Main(m) }
