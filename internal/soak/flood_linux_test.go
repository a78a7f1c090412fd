//go:build !386 && !arm && !mips && !mipsle

package soak

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
)

var flood = flag.Duration("flood", 200*time.Millisecond, "how long programs of TestFlood write")

// TestFlood: one of ten programs writes as fast as it can, and the others a thousand records a second. Each record of each program is
// read or lost. What they lose, and what a record costs the reader, are figures: they depend on the machine.
func TestFlood(t *testing.T) {
	testscale.HostOnly(t)
	for _, size := range []int{0, 4 << 20, 16 << 20} {
		t.Run(strconv.Itoa(size>>10)+" KiB", func(t *testing.T) { testFlood(t, size) })
	}
}

func testFlood(t *testing.T, size int) {
	s := &memorySoak{t: t, prefix: fmt.Sprintf("soak_flood_%d", os.Getpid())}
	var err error
	s.r, err = reader.Open(&reader.Options{
		Events: []string{s.prefix}, Transport: reader.TransportMemory, BufferSize: size, Decode: reader.DecodeOptions{Reuse: true},
	})
	require.NoError(t, err)
	for range 10 {
		s.programs = append(s.programs, s.spawn())
	}
	for _, p := range s.programs {
		p.register()
	}
	began, before := time.Now(), processorTime(t)
	var reading sync.WaitGroup
	reading.Go(func() { s.read(func(*reader.Event) {}) })
	for i, p := range s.programs {
		p.asked(map[bool]string{true: "flood", false: "steady"}[i == 0])
	}
	time.Sleep(*flood) //nolint:forbidigo // load
	for _, p := range s.programs {
		p.pauseAndCompare()
	}
	took, cost := time.Since(began), processorTime(t)-before //nolint:forbidigo // a figure
	var read uint64
	for i, p := range s.programs {
		st := s.counts(p)["0"]
		say(t, "program %d: written %d, lost %d", i, st.Matched, st.Lost)
		read += st.Read
	}
	say(t, "%d KiB: in %v, read %d, %v of processor time for each", size>>10, took.Round(time.Millisecond), read, cost/time.Duration(max(read, 1)))
	for len(s.programs) > 0 {
		s.end(s.programs[0])
	}
	require.NoError(t, s.r.Stop())
	reading.Wait()
	st, err := s.r.Stats()
	require.NoError(t, err)
	assert.Equal(t, s.received.Load(), st.Total.Read)
	if !st.Total.AtLeast {
		assert.Equal(t, s.returned, st.Total.Read+st.Total.Lost)
	}
	require.NoError(t, s.r.Close())
}

// processorTime is that of this process.
func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
