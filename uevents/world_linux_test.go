package uevents_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/abi"
	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// kernel is the world of the machine's own kernel.
type kernel struct{ fs *tracefs.Dir }

func realKernel(t *testing.T) world { return kernel{kerneltest.Require(t)} }

func (k kernel) open(t *testing.T) backend.Backend {
	f, err := abi.Open(k.fs.Path(tracefs.DataFile))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() }) // tests may have closed it
	return f
}

func (k kernel) provider(t *testing.T) *uevents.Provider { return owned(t, k.unowned(t)) }

func (kernel) unowned(t *testing.T) *uevents.Provider {
	p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportKernel})
	require.NoError(t, err)
	return p
}

type ftraceTool struct{ *kerneltest.Instance }

func (f ftraceTool) payloads(*testing.T) [][]byte { return payloads(f.Records()) }
func (f ftraceTool) detach()                      { f.Detach() }

type perfTool struct{ *kerneltest.Perf }

func (p perfTool) payloads(*testing.T) [][]byte { return payloads(p.Records()) }
func (p perfTool) detach()                      { p.Detach() }

func payloads(records []kerneltest.Record) (list [][]byte) {
	for _, r := range records {
		list = append(list, r.Payload)
	}
	return list
}

func (k kernel) attach(t *testing.T, kind ueventstest.Kind, event string) tool {
	t.Helper()
	if kind == ueventstest.Perf {
		return perfTool{kerneltest.AttachPerf(t, k.fs, event)}
	}
	i := kerneltest.NewInstance(t, k.fs, 1024)
	i.Attach(event)
	return ftraceTool{i}
}

func (k kernel) exists(t *testing.T, event string) bool {
	ok, err := k.fs.Event(event).Exists()
	require.NoError(t, err)
	return ok
}

func (kernel) private() bool { return false }

func (kernel) limit(kind ueventstest.Kind) int { return kernelLimit(kind) }

func (k kernel) status(t *testing.T) *tracefs.Status {
	s, err := k.fs.Status()
	require.NoError(t, err)
	return s
}
