package reader

import (
	"fmt"
	"log/slog"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
)

// TestReaderMemoryBounded: a long read of the records of very many short-lived processes takes a bounded amount of memory, also
// when the records of most of their exits are lost.
func TestReaderMemoryBounded(t *testing.T) {
	testscale.HostOnly(t)
	m := newMachine(t)
	h, err := sloghandler.New("short", &sloghandler.Options{Provider: m.program()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	r := m.mustOpen(Options{Events: []string{"short_info"}})
	logger := slog.New(h)
	read := 0
	run := func(from, to int32) {
		for pid := from; pid < to; pid++ {
			m.task(fork(812, pid))
			m.task(exec(pid, fmt.Sprintf("short-%d", pid)))
			m.pid = pid
			logger.Info("done")
			if pid%7 == 0 {
				m.task(exit(pid))
			}
			if pid%512 == 0 {
				read += len(m.read(r))
				m.notices = nil
			}
		}
	}
	heap := func() int {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int(s.HeapAlloc)
	}
	const first, some = 1024, 7 * maxProcesses / 6 // so that more processes are known than the most
	before := heap()
	run(first, first+some)
	assert.Less(t, heap()-before, 32<<20)
	full := heap()
	run(first+some, first+2*some)
	assert.Less(t, heap()-full, 8<<20, "more processes take no more memory")

	assert.Greater(t, read, 2*some-1024, "all records are read")
	assert.LessOrEqual(t, len(r.processes.known), maxProcesses)
	assert.LessOrEqual(t, len(r.processes.exited), maxExited)
	assert.LessOrEqual(t, len(r.copiesOf.originals), maxOriginals)
	assert.LessOrEqual(t, len(r.source.writers), maxWriters)
	assert.Empty(t, r.noMainThread)
	assert.Len(t, r.sources, 1)
}
