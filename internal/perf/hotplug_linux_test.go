package perf_test

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// cpu1 is 0 while CPU 1 is offline.
const cpu1 = "/sys/devices/system/cpu/cpu1/online"

// requireCPU1 skips the test on a kernel that cannot take CPU 1 offline.
func requireCPU1(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(cpu1); err != nil {
		t.Skip("not on this kernel: no CPU can be taken offline")
	}
}

// setCPU1 takes CPU 1 offline or brings it online.
func setCPU1(t *testing.T, on bool) {
	t.Helper()
	requireCPU1(t)
	value := "0"
	if on {
		value = "1"
	}
	require.NoError(t, os.WriteFile(cpu1, []byte(value), 0))
	if !on {
		t.Cleanup(func() {
			if b, err := os.ReadFile(cpu1); err == nil && strings.TrimSpace(string(b)) == "0" {
				assert.NoError(t, os.WriteFile(cpu1, []byte("1"), 0))
			}
		})
	}
}

// writeOn1 writes until CPU 1 has written, and returns how many records were written and read.
func writeOn1(t *testing.T, s *perf.Session, ev *uevents.Event) (written, read uint64) {
	t.Helper()
	for on1, rounds := false, 0; !on1; rounds++ {
		require.Less(t, rounds, 1000, "CPU 1 writes nothing that is read")
		var writing sync.WaitGroup
		for range 4 {
			writing.Go(func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				for n := range uint64(20) {
					write(t, ev, n, 0)
				}
			})
		}
		writing.Wait()
		written += 4 * 20
		require.NoError(t, s.Flush())
		for r := (perf.Record{}); s.ReadInto(&r) == nil; {
			if r.Kind == perf.Sample {
				on1 = on1 || r.CPU == 1
				read++
			}
		}
	}
	return written, read
}

// TestHotplug: a CPU that goes offline and returns has its events again, even if it was offline only between two polls.
func TestHotplug(t *testing.T) {
	for _, c := range []struct {
		name string
		o    perf.Options
	}{{"samples", perf.Options{Poll: time.Hour}}, {"with tasks", perf.Options{Poll: time.Hour, Tasks: true}}} {
		t.Run(c.name, func(t *testing.T) {
			fs := kerneltest.Require(t)
			requireCPU1(t)
			ev := newEvent(t)
			s := open(t, fs, &c.o)
			src := attach(t, s, ev, nil)
			counted := attach(t, s, ev, &perf.AttachOptions{CountOnly: true})
			var written, read uint64
			both := func() {
				w, r := writeOn1(t, s, ev)
				written, read = written+w, read+r
			}
			both()

			setCPU1(t, false)
			setCPU1(t, true)
			s.Look()
			both()

			setCPU1(t, false)
			s.Look()
			write(t, ev, 0, 0)
			written++
			late := newEvent(t)
			lateSrc := attach(t, s, late, nil)
			stats, err := s.Stats()
			require.NoError(t, err)
			cpus := stats.CPUs
			setCPU1(t, true)
			s.Look()
			both()
			lateWritten, lateRead := writeOn1(t, s, late)
			assert.Equal(t, written, statsOf(t, src).Matched)
			assert.Equal(t, read, statsOf(t, src).Read)
			assert.Equal(t, written, read)
			assert.Equal(t, lateWritten, lateRead)
			assert.Equal(t, lateWritten, statsOf(t, lateSrc).Read)
			st, err := counted.Stats()
			require.NoError(t, err)
			assert.Equal(t, written, st.Matched)
			stats, err = s.Stats()
			require.NoError(t, err)
			assert.NoError(t, stats.CPUErr)
			assert.Equal(t, cpus+1, stats.CPUs)
			assert.Zero(t, stats.Malformed)
		})
	}
}

// TestCPUFirstOnline: a CPU that was offline when the session was opened gets rings when it comes online.
func TestCPUFirstOnline(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	setCPU1(t, false)
	s := open(t, fs, &perf.Options{Poll: 20 * time.Millisecond})
	attach(t, s, ev, &perf.AttachOptions{Ring: "a"})
	attach(t, s, ev, &perf.AttachOptions{Ring: "b"})
	rings := func() int {
		stats, err := s.Stats()
		require.NoError(t, err)
		return stats.Rings
	}
	before := rings()
	setCPU1(t, true)
	testscale.Eventually(t, func() bool { return rings() == before+2 }, "CPU 1 has no rings")
	written, read := writeOn1(t, s, ev)
	assert.Equal(t, 2*written, read)
}
