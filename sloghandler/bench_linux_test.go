package sloghandler_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/sloghandler"
)

// BenchmarkKernel makes the same call to several handlers, ours on the machine's kernel with
// and without ftrace attached.
func BenchmarkKernel(b *testing.B) {
	fs := kerneltest.Require(b)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(b, err)
	defer null.Close()

	run := func(name string, log *slog.Logger) {
		b.Run(name, func(b *testing.B) {
			request(log)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				request(log)
			}
		})
	}
	kernel := func(o *sloghandler.Options) (*sloghandler.Handler, string) {
		name := uniqueName()
		h, err := sloghandler.New(name, o)
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, h.Close()) })
		return h, name
	}
	declared := &sloghandler.Options{Declarations: []sloghandler.AnyDeclaration{httpRequest}}

	run("discard", slog.New(slog.DiscardHandler))
	run("accepting", slog.New(accepting{}))
	run("json", slog.New(slog.NewJSONHandler(null, nil)))

	h, name := kernel(nil)
	d, dname := kernel(declared)
	run("off", slog.New(h))
	run("declared/off", slog.New(d))
	for _, c := range []struct {
		name  string
		h     slog.Handler
		event string
	}{
		{"ftrace", h, name + "_info"},
		{"with/ftrace", h.WithAttrs([]slog.Attr{slog.String("service", "shop"), slog.Int("shard", 7)}), name + "_info"},
		{"declared/ftrace", d, dname + "_http_request"},
	} {
		i := kerneltest.NewInstance(b, fs, 64)
		i.Attach(c.event)
		run(c.name, slog.New(c.h))
		i.Detach()
	}
}

// BenchmarkDisabledCheck is Enabled while no tool is attached, by the number of declared
// records.
func BenchmarkDisabledCheck(b *testing.B) {
	kerneltest.Require(b)
	ctx := context.Background()
	for _, n := range []int{0, 1, 8, 60, 100} {
		type record struct{ N int }
		o := &sloghandler.Options{}
		for i := range n {
			o.Declarations = append(o.Declarations, sloghandler.Declare[record](fmt.Sprintf("record %d", i), nil))
		}
		h, err := sloghandler.New(uniqueName(), o)
		require.NoError(b, err)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for range b.N {
				if h.Enabled(ctx, slog.LevelInfo) {
					b.Fatal("no tool is attached")
				}
			}
		})
		require.NoError(b, h.Close())
	}
}
