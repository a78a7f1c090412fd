//go:build !386 && !arm && !mips && !mipsle

package reader_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/processcontext"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
)

// readyRecords returns how many records are ready.
func readyRecords(t *testing.T, r *reader.Reader) (n int) {
	t.Helper()
	ready(t, r, func(*record.Record) { n++ })
	return n
}

// TestMemoryAskedProcess: a process that AttachProcess asked for is read, also with two selections.
func TestMemoryAskedProcess(t *testing.T) {
	testscale.HostOnly(t)
	p := provider(t)
	e := register(t, p, "sel_asked")
	r, err := reader.Open(&reader.Options{Selection: reader.Selection{Events: []string{"sel_asked"}, Processes: []int{1}}, Transport: reader.TransportMemory, Poll: time.Millisecond})
	require.NoError(t, err)
	defer r.Close()
	r.AttachProcess(os.Getpid())
	require.True(t, write(t, e))
	assert.Equal(t, 1, readyRecords(t, r), "one selection")
	require.NoError(t, r.Select(reader.Selection{Events: []string{"sel_asked"}, Processes: []int{1}}, reader.Selection{Events: []string{"sel_asked"}, Processes: []int{os.Getppid()}}))
	require.True(t, write(t, e), "it stays attached")
	assert.Equal(t, 1, readyRecords(t, r), "two selections: %+v", r.State())
}

// TestMemoryTaskRace: Select attaches to another event of a program, and copies its process, to which Next adds its context.
func TestMemoryTaskRace(t *testing.T) {
	testscale.HostOnly(t)
	p := provider(t)
	first := register(t, p, "sel_race_0")
	var events []string
	for i := 1; i < 200; i++ {
		name := fmt.Sprintf("sel_race_%d", i)
		register(t, p, name)
		events = append(events, name)
	}
	only := reader.Selection{Events: []string{"user_events:sel_race_0"}, Processes: []int{os.Getpid()}}
	for range 40 {
		r, err := reader.Open(&reader.Options{Selection: only, Transport: reader.TransportMemory, Poll: time.Millisecond})
		require.NoError(t, err)
		c, err := processcontext.Publish([]processcontext.Attribute{{Key: "service.name", Value: "late"}, {Key: "zone", Value: "a"}})
		require.NoError(t, err)
		write(t, first)
		var wg sync.WaitGroup
		wg.Go(func() {
			for _, name := range events[:20] {
				assert.NoError(t, r.Select(only, reader.Selection{Events: []string{"user_events:" + name}, Processes: []int{os.Getpid()}}))
			}
		})
		var rec record.Record
		require.NoError(t, r.Next(&rec))
		require.Equal(t, "late", rec.Process.ServiceName)
		wg.Wait()
		require.NoError(t, c.Close())
		require.NoError(t, r.Close())
	}
}

// TestMemoryStopped: Stop disables the events; none is enabled after it.
func TestMemoryStopped(t *testing.T) {
	testscale.HostOnly(t)
	p := provider(t)
	register(t, p, "sel_stop_a")
	r, err := reader.Open(&reader.Options{
		Selection: reader.Selection{Events: []string{"sel_stop"}, Processes: []int{os.Getpid()}}, Transport: reader.TransportMemory, Poll: time.Hour,
	})
	require.NoError(t, err)
	defer r.Close()
	require.NoError(t, r.Stop())
	later := register(t, p, "sel_stop_b")
	assert.False(t, later.Enabled())
	readyRecords(t, r)
	assert.False(t, later.Enabled(), "after Stop")
}
