//go:build linux && !386 && !arm && !mips && !mipsle

package uevents_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/backend/memory"
	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/memory/ring"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// sharedMemory is the world of events in memory, or in files of a directory. The tools are in this process; others find it in the
// same way.
type sharedMemory struct{ dir string }

func init() { sharedMemoryWorld = func(dir string) world { return sharedMemory{dir} } }

func (m sharedMemory) open(t *testing.T) backend.Backend {
	b, err := memory.Open(m.dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() }) // tests may have closed it
	return b
}

func (m sharedMemory) provider(t *testing.T) *uevents.Provider { return owned(t, m.unowned(t)) }

func (m sharedMemory) unowned(t *testing.T) *uevents.Provider {
	if m.dir != "" {
		b, err := memory.Open(m.dir)
		require.NoError(t, err)
		return backend.NewProvider(b).(*uevents.Provider)
	}
	p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
	require.NoError(t, err)
	return p
}

type memoryTool struct {
	*attach.Session
	p        *attach.Program
	detached bool
}

func (m sharedMemory) attach(t *testing.T, _ ueventstest.Kind, event string) tool {
	t.Helper()
	p, err := attach.Open(os.Getpid())
	require.NoError(t, err)
	require.Equal(t, m.dir != "", p.Named())
	s, err := p.Attach(attach.Options{Patterns: []string{event}})
	require.NoError(t, err)
	tool := &memoryTool{Session: s, p: p}
	t.Cleanup(tool.detach)
	return tool
}

func (m *memoryTool) payloads(*testing.T) (list [][]byte) {
	for _, r := range m.Read() {
		list = append(list, r.Payload())
	}
	return list
}

func (m *memoryTool) detach() {
	if !m.detached {
		m.detached = true
		_ = m.Detach()
		_ = m.p.Close()
	}
}

// exists: a tool sees an event as long as the program has it, or a tool wants it.
func (sharedMemory) exists(t *testing.T, event string) bool {
	p, err := attach.Open(os.Getpid())
	if err != nil {
		return false // the program has none
	}
	defer func() { assert.NoError(t, p.Close()) }()
	events, _ := p.Events(0)
	for _, e := range events {
		if e.Declaration.Name == event && (e.Held || e.Wanted) {
			return true
		}
	}
	return false
}

func (sharedMemory) status(t *testing.T) *tracefs.Status {
	t.Skip("not on this kernel: shared memory has no user_events_status")
	return nil
}

func (sharedMemory) private() bool { return true }

// limit: a record takes at most half of a ring, of which there is one for each processor.
func (sharedMemory) limit(ueventstest.Kind) int {
	return attach.RingSize(0, runtime.GOMAXPROCS(0))/2 - ring.HeaderSize
}
