package typedfield_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/typedfield"
)

func requireAllocs(t *testing.T, want float64, f func()) {
	t.Helper()
	if testscale.Race {
		t.Skip("not under the race detector: it allocates")
	}
	assert.Equal(t, want, testing.AllocsPerRun(100, f))
}

// A record of a log as package sloghandler has it, with everything that makes a text difficult.
func TestLayoutDoesNotAllocate(t *testing.T) {
	e := newLogEncoder(t)
	buf := make([]byte, 4, 4096)
	for _, msg := range []string{"plain", "", "größe\n\xff", strings.Repeat("\n", 5000)} {
		requireAllocs(t, 0, func() {
			id := [16]byte{1, 2, 3}
			e.append(buf, msg, id)
		})
	}
}

func TestPlanDoesNotAllocate(t *testing.T) {
	p := mustPlan[everything](t)
	buf := make([]byte, 4, 4096)
	requireAllocs(t, 0, func() {
		// Neither the struct nor what its slices refer to escapes.
		var digest [5]byte
		var codes [3]int16
		v := everything{
			Text: "größe\n", Bytes: digest[:], Body: digest[:], Raw: digest[:], IP: digest[:4], S16: codes[:],
			Addr: netip.AddrFrom4([4]byte{192, 0, 2, 1}), F64: 0.25, At: time.Unix(1, 0),
		}
		p.Append(buf, &v, 0)
	})
	long := strings.Repeat("größe\n", 2000)
	requireAllocs(t, 0, func() {
		v := everything{Text: long}
		p.Append(buf, &v, 0)
	})
}

func TestPlanOfStringsDoesNotAllocate(t *testing.T) {
	p := mustPlan[HTTPRequest](t)
	buf := make([]byte, 4, 4096)
	requireAllocs(t, 0, func() {
		v := HTTPRequest{Method: "GET", Route: "/users/{id}", Host: "example.com", Status: 200, Latency: time.Millisecond}
		p.Append(buf, &v, 0)
	})
}

func TestFieldsDoNotAllocate(t *testing.T) {
	f, direct := mustFields[everything](t), mustFields[HTTPRequest](t)
	buf := make([]byte, 8192)
	long, size := strings.Repeat("größe\n", 2000), fixedSize(f)
	requireAllocs(t, 0, func() {
		var digest [5]byte
		var codes [3]int16
		v := everything{
			Text: long, Bytes: digest[:], Body: digest[:], Raw: digest[:], IP: digest[:4], S16: codes[:],
			Addr: netip.AddrFrom4([4]byte{192, 0, 2, 1}), F64: 0.25, At: time.Unix(1, 0),
		}
		f.Append(buf[:size], 0, 0, &v, 4064)
		r := HTTPRequest{Method: "GET", Route: "/users/{id}", Host: "example.com", Status: 200, Latency: time.Millisecond}
		direct.Append(buf[:100], 0, 20, &r, 4064)
		// A way that is not taken makes nothing escape either.
		if sink < 0 {
			f.Value(0, &v)
			direct.Value(0, &r)
		}
	})
}

// TestFieldsReuseTheBuffer: a buffer that has room is not reallocated, and one that has none grows to what is needed.
func TestFieldsReuseTheBuffer(t *testing.T) {
	f := mustFields[everything](t)
	buf := make([]byte, fixedSize(f), 4096)
	out, _ := f.Append(buf, 0, 0, &sample, 4064)
	assert.Same(t, &buf[0], &out[0])
	requireAllocs(t, 0, func() { f.Append(buf, 0, 0, &sample, 4064) })
	small, _ := f.Append(make([]byte, fixedSize(f)), 0, 0, &sample, 4064)
	assert.Equal(t, out, small)
	assert.Less(t, cap(small), 2048)
}

// TestPlanNeedsNoRoomForTheLimit: a buffer that has room for the record does not grow to the limit.
func TestPlanNeedsNoRoomForTheLimit(t *testing.T) {
	p := mustPlan[HTTPRequest](t)
	v := HTTPRequest{Method: "GET", Route: "/users/{id}", Status: 200}
	want, _ := p.Append(nil, &v, typedfield.DefaultLimit)
	buf := make([]byte, 4, 4+len(want))
	requireAllocs(t, 0, func() { p.Append(buf, &v, typedfield.DefaultLimit) })
	got, _ := p.Append(buf, &v, typedfield.DefaultLimit)
	assert.Equal(t, want, got[4:])
	got, _ = p.Append(buf[:5], &v, typedfield.DefaultLimit)
	assert.Equal(t, want, got[5:], "and one that lacks a byte grows")
}

func TestPlanGrowsABufferOnce(t *testing.T) {
	p := mustPlan[everything](t)
	v := sample
	requireAllocs(t, 1, func() { p.Append(nil, &v, 0) })
}
