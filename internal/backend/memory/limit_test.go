//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestLimitOfPrograms: a tool reads so many records of an event in a second, enables the event again in the next one, and measures how
// long it was disabled.
func TestLimitOfPrograms(t *testing.T) {
	const limit, seconds = 10, 3
	p := openSubject(t)
	t.Cleanup(func() { p.close(t) })
	programs := attach.NewPrograms(attach.ProgramsOptions{
		Options:      attach.Options{Patterns: []string{"ue_env"}, Limit: limit},
		WantsProcess: func(pid int32) bool { return int(pid) == os.Getpid() },
	})
	t.Cleanup(func() { require.NoError(t, programs.Close()) })
	testscale.Eventually(t, func() bool {
		require.NoError(t, programs.Find())
		return p.enabled()
	}, "not found")
	var src *attach.Source
	programs.Sources(func(s *attach.Source) { src = s })
	read, bySecond := 0, map[uint64]int{}
	poll := func() {
		programs.Poll()
		for r := (attach.Record{}); programs.Next(&r); {
			read++
			bySecond[r.Time/uint64(time.Second)]++
		}
	}
	now := func() time.Duration { return time.Duration(sys.Nanotime()) }
	var written, disabled int
	var least, most time.Duration
	for range seconds {
		poll()
		require.True(t, p.enabled())
		before := now() // enabled
		written += p.writeWhileEnabled(t) - 1
		disabled++
		began := now()
		ended := began
		testscale.Eventually(t, func() bool {
			ended = now()
			assert.True(t, programs.Limited() == 0 || programs.Limited() <= time.Second)
			poll()
			return p.enabled()
		}, "it stays disabled")
		least += ended - began
		most += now() - before
	}
	times, took := src.Limited()
	assert.EqualValues(t, disabled, times)
	assert.GreaterOrEqual(t, took, least)
	assert.LessOrEqual(t, took, most)
	assert.Equal(t, written, read)
	for _, n := range bySecond {
		assert.LessOrEqual(t, n, limit+1, "the second may end between the check and the record")
	}

	// The time ends with the session.
	p.writeWhileEnabled(t)
	testscale.Eventually(t, func() bool {
		poll()
		times, _ = src.Limited()
		return times > uint64(disabled)
	}, "the limit is not noticed")
	programs.Stop()
	_, took = src.Limited()
	poll()
	_, later := src.Limited()
	assert.Equal(t, took, later)
	assert.Zero(t, programs.Limited())
}

// TestNoLimit: without one, a session has no options that a program would look at for each record.
func TestNoLimit(t *testing.T) {
	p := openSubject(t)
	t.Cleanup(func() { p.close(t) })
	s := attached(t, attach.Options{})
	p.write(1, 12)
	require.Len(t, s.Read(), 1)
	program := p.f.(*file).p
	for i := range program.sessions {
		if o := program.sessions[i].opened.Load(); o != nil {
			assert.Nil(t, o.options)
		}
	}
}
