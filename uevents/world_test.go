package uevents_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/leakcheck"
	_ "github.com/userevents/userevents-go/internal/memory/private"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// world is a kernel that the semantic tests run against: a real one, or a simulated one.
type world interface {
	// open returns user_events_data as the library's seam sees it.
	open(t *testing.T) backend.Backend
	// provider returns a new provider, which is closed with the test, and unowned one that the test closes.
	provider(t *testing.T) *uevents.Provider
	unowned(t *testing.T) *uevents.Provider
	// attach attaches a tracing tool to an event, which must exist.
	attach(t *testing.T, kind ueventstest.Kind, event string) tool
	// exists reports whether the event's tracepoint is there. The kernel deletes events in
	// the background: wait with gone.
	exists(t *testing.T, event string) bool
	status(t *testing.T) *tracefs.Status
	// limit is the size of the largest payload that a tool gets.
	limit(ueventstest.Kind) int
	// private reports whether the events are those of a process, and not of the machine.
	private() bool
}

// tool is an attached tracing tool. It is detached with the test at the latest.
type tool interface {
	// payloads takes what was recorded. Real tools pad payloads with up to 7 bytes.
	payloads(t *testing.T) [][]byte
	detach()
}

var names atomic.Uint32

// newName returns an event name that no other test uses: old kernels keep every event.
func newName() string { return fmt.Sprintf("ue_test_%d", names.Add(1)) }

func declare(t *testing.T, command string) tracepoint.Declaration {
	t.Helper()
	d, err := tracepoint.Parse(command)
	require.NoError(t, err)
	return d
}

// sharedMemoryWorld is the world of events in memory, or in files of a directory; nil on systems that have no tools for it.
var sharedMemoryWorld func(dir string) world

// simulated is a kernel of package ueventstest.
type simulated struct{ k *ueventstest.Kernel }

func newSimulated(t *testing.T, abi uevents.ABI) world {
	return simulated{ueventstest.New(t, &ueventstest.Options{ABI: abi})}
}

func (m simulated) open(t *testing.T) backend.Backend {
	b := backend.OpenSimulated(m.k)
	t.Cleanup(func() { _ = b.Close() }) // tests may have closed it
	return b
}

func (m simulated) provider(t *testing.T) *uevents.Provider { return owned(t, m.unowned(t)) }

func (m simulated) unowned(*testing.T) *uevents.Provider { return m.k.Provider() }

func owned(t *testing.T, p *uevents.Provider) *uevents.Provider {
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

type simulatedTool struct{ *ueventstest.Tool }

func (m simulated) attach(t *testing.T, kind ueventstest.Kind, event string) tool {
	t.Helper()
	tr := recordtest.Attach(t, m.k, kind, event)
	t.Cleanup(tr.Detach)
	return simulatedTool{tr}
}

func (m simulatedTool) payloads(*testing.T) (list [][]byte) {
	for _, r := range m.Records() {
		list = append(list, r.Payload)
	}
	return list
}

func (m simulatedTool) detach() { m.Detach() }

func (m simulated) exists(_ *testing.T, event string) bool {
	_, err := m.k.Format(event)
	return err == nil
}

func (simulated) private() bool { return false }

func (simulated) limit(kind ueventstest.Kind) int { return kernelLimit(kind) }

func kernelLimit(kind ueventstest.Kind) int {
	if kind == ueventstest.Perf {
		return 8184
	}
	return tracepoint.MaxPayload
}

func (m simulated) status(t *testing.T) *tracefs.Status {
	s, err := tracefs.ParseStatus(strings.NewReader(m.k.Status()))
	require.NoError(t, err)
	return s
}

// eachWorld runs a test on the simulated kernel of each generation, in shared memory, and on the real kernel if there is one. A guest
// has nothing to add about the first two.
func eachWorld(t *testing.T, f func(t *testing.T, w world)) {
	for _, abi := range []uevents.ABI{uevents.ABIStatusByte, uevents.ABIStatusBit, uevents.ABIEnableAddress} {
		if testscale.Emulated() {
			break
		}
		t.Run("simulated "+abi.String(), func(t *testing.T) { f(t, newSimulated(t, abi)) })
	}
	if sharedMemoryWorld != nil && !testscale.Emulated() {
		t.Run("memory", func(t *testing.T) { f(t, sharedMemoryWorld("")) })
		t.Run("memory in files", func(t *testing.T) { f(t, sharedMemoryWorld(t.TempDir())) })
	}
	t.Run("kernel", func(t *testing.T) { f(t, realKernel(t)) })
}

func TestMain(m *testing.M) { leakcheck.Main(m) }
