package reader_test

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// TestLimitOfEndedProgram: while an event is disabled by the limit, its program may end, and another one may register it with other
// fields. The reader keeps nothing of the old event alive, and reads the new one.
func TestLimitOfEndedProgram(t *testing.T) {
	fs := kerneltest.Require(t)
	status, err := fs.Status()
	require.NoError(t, err)
	if status.Max > 0 {
		t.Skip("not on this kernel: before 6.4 events stay without a program")
	}
	register := func(declaration string) (*uevents.Provider, *uevents.Event, error) {
		p, err := uevents.Open(nil)
		require.NoError(t, err)
		ev, err := p.Register(tracepoint.MustParse(declaration), &uevents.EventOptions{Naming: uevents.NameExact})
		if err != nil {
			require.NoError(t, p.Close())
		}
		return p, ev, err
	}
	p, ev, err := register("limit_ended u32 a")
	require.NoError(t, err)
	var notices []reader.Notice
	r, err := reader.Open(&reader.Options{
		Tracefs: fs.Path(),
		Events:  []string{"limit_ended"}, Limit: 1, Latency: time.Millisecond, Poll: time.Millisecond,
		Notify: func(n reader.Notice) { notices = append(notices, n) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	var got []string // names of fields
	next := func() {
		r.SetDeadline(time.Now().Add(time.Millisecond))
		for e := (reader.Event{}); ; {
			err := r.Next(&e)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return
			}
			require.NoError(t, err)
			got = append(got, e.Fields[0].Name)
		}
	}
	write := func(ev *uevents.Event, size int) {
		_, err := ev.WriteRecord(make([]byte, uevents.IndexSize+size))
		require.NoError(t, err)
	}
	testscale.Eventually(t, func() bool { write(ev, 4); next(); return !ev.Enabled() }, "the limit has no effect")
	require.NoError(t, p.Close())
	testscale.Eventually(t, func() bool {
		there, err := fs.Event("limit_ended").Exists()
		return err == nil && !there
	}, "the reader keeps the event")
	noticed := func(kind reader.NoticeKind) {
		testscale.Eventually(t, func() bool {
			next()
			return slices.ContainsFunc(notices, func(n reader.Notice) bool { return n.Kind == kind && n.Event == "user_events:limit_ended" })
		}, "%v", &notices)
	}
	noticed(reader.NoticeDetached)

	testscale.Eventually(t, func() bool {
		p, ev, err = register("limit_ended u64 b")
		return err == nil
	}, "the name is taken")
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	noticed(reader.NoticeAttached) // on all processors; the first one enables the event
	assert.True(t, ev.Enabled())
	write(ev, 8)
	testscale.Eventually(t, func() bool { next(); return slices.Contains(got, "b") }, "the new event is not read, or as the old one")
	for _, n := range notices {
		assert.NotEqual(t, reader.NoticeFailed, n.Kind, "%v", n.Err)
	}
}
