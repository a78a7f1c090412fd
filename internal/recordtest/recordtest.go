// Package recordtest makes records of events for tests, on a simulated kernel.
package recordtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// Program registers its events, and returns a function that writes records.
type Program func(t testing.TB, p *uevents.Provider) (write func())

// Sample is a record, with a decoder of its event.
type Sample struct {
	Event       string // name of the tracepoint
	Declaration tracepoint.Declaration
	Decoder     *reader.Decoder
	Raw         []byte
}

// Payload returns what the program wrote.
func (s *Sample) Payload() []byte { return s.Raw[tracepoint.CommonSize:] }

// Samples returns the records that a program writes on a simulated kernel, in their order.
func Samples(t testing.TB, run Program) (list []Sample) {
	t.Helper()
	kernel := ueventstest.New(t, nil)
	provider := kernel.Provider()
	t.Cleanup(func() { require.NoError(t, provider.Close()) })
	write := run(t, provider)
	tool, err := kernel.Attach(ueventstest.Perf, "*")
	require.NoError(t, err)
	write()
	for _, rec := range tool.Records() {
		text, err := kernel.Format(rec.Event)
		require.NoError(t, err)
		format, err := tracepoint.ParseFormat(text)
		require.NoError(t, err)
		s := NewSample(t, tracepoint.System, format, rec.Payload)
		s.Declaration = rec.Declaration
		list = append(list, s)
	}
	return list
}

// NewSample returns a record of an event with a payload.
func NewSample(t testing.TB, system string, format tracepoint.Format, payload []byte) Sample {
	t.Helper()
	d, err := reader.NewDecoder(system, format)
	require.NoError(t, err)
	return Sample{Event: format.Name, Decoder: d, Raw: append(make([]byte, tracepoint.CommonSize), payload...)}
}

// Format returns the format that the kernel makes of a declaration.
func Format(declaration string) tracepoint.Format {
	d := tracepoint.MustParse(declaration)
	format := tracepoint.Format{Name: d.Name}
	offset := tracepoint.CommonSize
	for _, f := range d.Fields {
		size := f.Type.FixedSize()
		format.Fields = append(format.Fields, tracepoint.FormatField{Name: f.Name, Type: f.Type, Offset: offset, Size: size})
		offset += size
	}
	return format
}
