package structevent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/structevent"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestKernel: the kernel filters structs by their fields, and a new version of the struct has its own event while a
// tool keeps that of the old one.
func TestKernel(t *testing.T) {
	dir := kerneltest.Require(t)
	const name = "structevent_kernel"
	type olderRequest struct {
		Status uint16 `uevent:"status"`
	}
	i := kerneltest.NewInstance(t, dir, 64)
	old, err := uevents.Open(nil)
	require.NoError(t, err)
	older, err := structevent.Define[olderRequest](old, name, nil)
	require.NoError(t, err)
	i.Attach(name)
	require.NoError(t, old.Close())
	assert.False(t, older.Enabled())

	p, err := uevents.Open(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	requests, err := structevent.Define[httpRequest](p, name, nil)
	require.NoError(t, err)
	assert.Regexp(t, "^"+name+"_[0-9a-f]{8}$", requests.Name())
	assert.ErrorIs(t, requests.Conflict(), uevents.ErrConflict)
	assert.False(t, requests.Enabled())

	require.NoError(t, i.Event(requests.Name()).SetFilter("status >= 500 && latency_ns < 1000000000"))
	i.Attach(requests.Name())
	require.True(t, requests.Enabled())
	for _, r := range []httpRequest{
		{"GET", "/users/7", 200, time.Millisecond, false},
		{"GET", "/users/8", 503, time.Millisecond, false},
		{"GET", "/orders", 503, time.Second, false},
		{"", "/users/", 500, -1, true},
	} {
		requests.Emit(&r)
	}
	var got []string
	for _, r := range i.Records() {
		require.Equal(t, requests.Name(), r.Event)
		got = append(got, text(t, ueventstest.Record{Declaration: requests.Declaration(), Payload: r.Payload}))
	}
	assert.Equal(t, []string{
		requests.Name() + ": method=GET route=/users/8 status=503 latency_ns=1000000 cached=0",
		requests.Name() + ": method= route=/users/ status=500 latency_ns=-1 cached=1",
	}, got)
	assert.EqualValues(t, 4, requests.Stats().Written)
}
