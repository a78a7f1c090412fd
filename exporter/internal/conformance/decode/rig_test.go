package decode

import (
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/userevents/userevents-go/internal/memory/private"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// rig is a simulated kernel with a tool that records everything, and decoders of its events.
type rig struct {
	t        testing.TB
	kernel   *ueventstest.Kernel
	provider *uevents.Provider
	tool     *ueventstest.Tool
	decoders map[string]*reader.Decoder
}

func newRig(t testing.TB) *rig {
	k := ueventstest.New(t, nil)
	r := &rig{t: t, kernel: k, provider: k.Provider(), decoders: map[string]*reader.Decoder{}}
	t.Cleanup(func() { require.NoError(t, r.provider.Close()) })
	return r
}

// attach attaches the tool to registered events, by default to all.
func (r *rig) attach(names ...string) {
	r.t.Helper()
	if names == nil {
		names = []string{"*"}
	}
	tool, err := r.kernel.Attach(ueventstest.Perf, names...)
	require.NoError(r.t, err)
	r.tool = tool
}

// raw returns a record in perf's form: after the common fields, and with undefined bytes at the end.
func raw(r ueventstest.Record) []byte {
	return append(append(make([]byte, tracepoint.CommonSize), r.Payload...), "\xCC{\"[\x00"...)
}

// decoder returns the decoder of a record's event.
func (r *rig) decoder(rec ueventstest.Record) *reader.Decoder {
	r.t.Helper()
	if d := r.decoders[rec.Event]; d != nil {
		return d
	}
	text, err := r.kernel.Format(rec.Event)
	require.NoError(r.t, err)
	f, err := tracepoint.ParseFormat(text)
	require.NoError(r.t, err)
	d, err := reader.NewDecoder(tracepoint.System, f)
	require.NoError(r.t, err)
	r.decoders[rec.Event] = d
	return d
}

// events decodes all records since the last call.
func (r *rig) events() (list []*reader.Event) {
	r.t.Helper()
	for _, rec := range r.tool.Records() {
		ev := new(reader.Event)
		require.NoError(r.t, r.decoder(rec).Decode(raw(rec), ev, nil))
		list = append(list, ev)
	}
	return list
}

// event decodes the only record since the last call.
func (r *rig) event() *reader.Event {
	r.t.Helper()
	list := r.events()
	require.Len(r.t, list, 1)
	return list[0]
}
