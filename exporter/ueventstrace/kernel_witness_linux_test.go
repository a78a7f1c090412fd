package ueventstrace_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// decodeKernel decodes a record by the kernel's own format file.
func decodeKernel(t *testing.T, fs *tracefs.Dir, r kerneltest.Record) fields {
	t.Helper()
	format, err := fs.Event(r.Event).Format()
	require.NoError(t, err)
	d, err := format.Declaration()
	require.NoError(t, err)
	decoder, err := typed.NewDecoder(d, nil)
	require.NoError(t, err)
	decoded, err := decoder.Decode(r.Payload)
	require.NoError(t, err)
	return fieldsOf(decoded)
}

// TestKernelRandomSpans is [TestRandomSpans] with what is in the kernel's buffers.
func TestKernelRandomSpans(t *testing.T) {
	fs := kerneltest.Require(t)
	_, p, _, name := onKernel(t)
	cs, err := ueventstrace.NewExporter(name, ueventstrace.WithCommonSchema4())
	require.NoError(t, err)
	defer func() { require.NoError(t, cs.Shutdown(t.Context())) }()
	i := kerneltest.NewInstance(t, fs, 1024)
	for _, suffix := range append([]string{"_L4K4"}, endSuffixes...) {
		i.Attach(name + suffix)
	}
	r := source{rand.New(rand.NewPCG(3, 4))}
	for range 300 {
		s := r.span()
		span := s.Snapshot()
		p.OnEnd(span)
		require.NoError(t, cs.ExportSpans(t.Context(), []sdktrace.ReadOnlySpan{span}))
		records := i.Records()
		last := len(records) - 1
		require.Equal(t, name+"_L4K4", records[last].Event)
		checkCommonSchema(t, &s, records[last].Event, records[last].Payload)
		var got []fields
		for _, r := range records[:last] {
			got = append(got, decodeKernel(t, fs, r))
		}
		checkTyped(t, name, &s, got, endSuffixes...)
	}
}

// TestKernelLongestName: the kernel takes the declarations of all events with the longest name.
func TestKernelLongestName(t *testing.T) {
	fs := kerneltest.Require(t)
	name := uniqueName()
	name += strings.Repeat("n", 64-len(name))
	p, err := ueventstrace.NewProcessor(name, ueventstrace.WithPerfettoSlices())
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Shutdown(t.Context())) }()
	i := kerneltest.NewInstance(t, fs, 64)
	i.Attach(name + "_span")
	s := source{rand.New(rand.NewPCG(7, 8))}.span()
	p.OnEnd(s.Snapshot())
	records := i.Records()
	require.Len(t, records, 1)
	checkTyped(t, name, &s, []fields{decodeKernel(t, fs, records[0])}, "_span")
}

// TestKernelRecordedRandomSpans is [TestRecordedRandomSpans] with what is in the kernel's buffers.
func TestKernelRecordedRandomSpans(t *testing.T) {
	fs := kerneltest.Require(t)
	name := uniqueName()
	open := func(opts ...ueventstrace.ProviderOption) *ueventstrace.TracerProvider {
		p, err := ueventstrace.NewTracerProvider(name, append(opts, ueventstrace.WithResource(res))...)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Shutdown(context.Background())) })
		return p
	}
	p, cs := open(), open(ueventstrace.WithCommonSchema4())
	i := kerneltest.NewInstance(t, fs, 1024)
	for _, suffix := range append([]string{"_L4K4"}, endSuffixes...) {
		i.Attach(name + suffix)
	}
	r := source{rand.New(rand.NewPCG(9, 10))}
	for range 300 {
		s := r.span()
		span := replay(p, &s)
		var got []fields
		for _, r := range i.Records() {
			got = append(got, decodeKernel(t, fs, r))
		}
		twin := replay(cs, &s)
		checkTyped(t, name, stub(span, twin), grouped(got), endSuffixes...)
		records := i.Records()
		require.Len(t, records, 1)
		checkCommonSchema(t, stub(twin, twin), records[0].Event, records[0].Payload)
	}
}
