package uevents_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/abi"
	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestPrintFormat: how the kernel prints fields, which a simulated one does not.
func TestPrintFormat(t *testing.T) {
	formats := map[string]string{
		"__rel_loc char[] data":           `"data=%s", __get_rel_str(data)`,
		"__data_loc char[] data":          `"data=%s", __get_str(data)`,
		"__rel_loc u8[] data":             `"data=%llu", REC->data`,
		"s64 data":                        `"data=%lld", REC->data`,
		"u64 data":                        `"data=%llu", REC->data`,
		"s32 data":                        `"data=%d", REC->data`,
		"u32 data":                        `"data=%u", REC->data`,
		"int data":                        `"data=%d", REC->data`,
		"unsigned int data":               `"data=%u", REC->data`,
		"s16 data":                        `"data=%d", REC->data`,
		"u16 data":                        `"data=%u", REC->data`,
		"short data":                      `"data=%d", REC->data`,
		"unsigned short data":             `"data=%u", REC->data`,
		"s8 data":                         `"data=%d", REC->data`,
		"u8 data":                         `"data=%u", REC->data`,
		"char data":                       `"data=%d", REC->data`,
		"unsigned char data":              `"data=%u", REC->data`,
		"char[4] data":                    `"data=%s", REC->data`,
		"struct point data 8":             `"data=%llu", REC->data`,
		"u8 a; __rel_loc char[] b; s64 c": `"a=%u b=%s c=%lld", REC->a, __get_rel_str(b), REC->c`,
	}
	fs := kerneltest.Require(t)
	s := newSession(t, kernel{fs})
	bit := uint8(0)
	for fields, want := range formats {
		name := newName()
		s.register(bit, name+" "+fields)
		text, err := fs.Event(name).FormatText()
		require.NoError(t, err)
		_, got, _ := strings.Cut(text, "print fmt: ")
		assert.Equal(t, want, strings.TrimSpace(got), fields)
		bit++
	}
}

// TestParseLimits: the kernel's own rules for texts, which a simulated one does not have: it is as strict as package tracepoint.
func TestParseLimits(t *testing.T) {
	s := newSession(t, realKernel(t))
	_, err := s.try(0, newName()+" char[0x0000000000001] a")
	assert.ErrorIs(t, err, errno.EINVAL)
	name := newName()
	longest := name + " u8 " + strings.Repeat("a", 511-len(name)-4)
	s.register(0, longest)
	s.unregister(0)
	_, err = s.try(0, newName()+longest)
	assert.ErrorIs(t, err, errno.EINVAL, "512 bytes with the NUL")
	_, err = s.try(0, newName()+":flag u8 a")
	if s.addresses() {
		assert.ErrorIs(t, err, errno.EINVAL, "flags in the text")
	} else {
		assert.NoError(t, err, "flags in the text are ignored")
	}
}

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
