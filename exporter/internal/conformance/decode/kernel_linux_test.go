package decode

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/uevents"
)

// TestDecodeKernelRecords: records of the kernel, decoded with its formats, equal the records of the same program on a
// simulated kernel. An event of the kernel itself has its fields.
func TestDecodeKernelRecords(t *testing.T) {
	fs := kerneltest.Require(t)
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	s, err := perf.Open(fs, nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	decoders := map[any]*record.Decoder{}
	attach := func(name string) {
		src, err := s.Attach(name, nil)
		require.NoError(t, err)
		format, err := src.Event().Format()
		require.NoError(t, err)
		decoders[src], err = record.NewDecoder(src.Event().System(), format)
		require.NoError(t, err)
	}
	attach("sched:sched_switch")
	for _, c := range usual {
		c.write(t, p, func() { attach(c.event) })
	}
	require.NoError(t, s.Stop())

	got := map[string]*record.Record{}
	for r := (live.Record{}); ; {
		err := s.ReadInto(&r)
		if err == io.EOF { //nolint:errorlint // it is returned as it is
			break
		}
		require.NoError(t, err)
		ev := &record.Record{PID: r.PID}
		raw := append([]byte(nil), r.Raw...)
		require.NoError(t, decoders[r.Tag].Decode(raw, ev), r.Tag)
		got[ev.Name] = ev
	}
	for i, c := range usual {
		ev := got[c.event]
		require.NotNil(t, ev, c.name)
		rig := newRig(t)
		rec := rig.writeUsual(i)
		var want record.Record
		require.NoError(t, rig.decoder(rec).Decode(raw(rec), &want))
		assert.Equal(t, os.Getpid(), int(ev.PID))
		assert.Equal(t, want.Kind, ev.Kind)
		assert.Equal(t, usualMessage, ev.Message)
		assert.Equal(t, want.Severity, ev.Severity)
		assert.Equal(t, want.SpanKind, ev.SpanKind)
		assert.Equal(t, want.ScopeName, ev.ScopeName)
		assert.False(t, ev.Timestamp.IsZero())
		recordtest.AssertFields(t, want.Fields(), ev.Fields(), c.name)
	}
	sched := got["sched_switch"]
	require.NotNil(t, sched)
	assert.Equal(t, "sched", sched.System)
	assert.Equal(t, record.KindOther, sched.Kind)
	next, _ := sched.Lookup("next_comm")
	assert.NotEmpty(t, next.Text())
	state, _ := sched.Lookup("prev_state")
	assert.Equal(t, record.TypeInt64, state.Type())
}
