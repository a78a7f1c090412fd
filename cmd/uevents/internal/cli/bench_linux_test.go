package cli

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// BenchmarkRead measures the cost of a record for the tool, from the ring to the file, without the write of the program.
// The record has five attributes.
func BenchmarkRead(b *testing.B) {
	kerneltest.Require(b)
	benchmarkRead(b, uevents.TransportKernel, reader.TransportKernel)
}

// BenchmarkReadMemory is BenchmarkRead for shared memory.
func BenchmarkReadMemory(b *testing.B) {
	benchmarkRead(b, uevents.TransportMemory, reader.TransportMemory)
}

func benchmarkRead(b *testing.B, written uevents.Transport, read reader.Transport) {
	b.Setenv(uevents.EnvTransport, written.String())
	h, err := sloghandler.New("benchread", nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, h.Close()) })
	logger := slog.New(h)
	write := func(n int) {
		for range n {
			logger.Info("GET /users/{id}", "http.request.method", "GET", "http.route", "/users/{id}",
				"http.response.status_code", 200, "latency", 0.0015, "cached", true)
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, null.Close()) })
	alone := selection{noFollow: true}
	patterns := []string{"benchread_info"}
	for _, format := range []string{"json", "text", "{{.latency}}"} {
		name := format
		if format[0] == '{' {
			name = "template"
		}
		b.Run("watch-"+name, func(b *testing.B) {
			e := newEnv()
			e.out, e.err = null, io.Discard
			w, o, err := e.newWatcher(&watchFlags{selection: alone, outputFlags: outputFlags{format: format, time: "local"}}, patterns)
			require.NoError(b, err)
			o.Transport = read
			p := openPortions(b, o)
			w.live = p
			p.measure(b, write, func() error {
				if err := w.show(); !errors.Is(err, io.EOF) {
					return err
				}
				return w.flush()
			})
			require.Equal(b, p.read, w.shown)
		})
	}
	b.Run("record-jsonl", func(b *testing.B) {
		e := newEnv()
		e.err = io.Discard
		f := recordFlags{selection: alone, output: filepath.Join(b.TempDir(), "t.jsonl")}
		o, ro, err := f.recordOptions(patterns)
		require.NoError(b, err)
		o.Transport = read
		p := openPortions(b, o)
		r := &recorder{expiry: expiry{live: p}, e: e, notes: notes{w: e.err}, began: e.now()}
		r.file, err = f.rotation.create(b.Context(), e, f.output, ro)
		require.NoError(b, err)
		p.measure(b, write, func() error {
			if err := r.write(); err != nil {
				return err
			}
			return r.file.flush()
		})
		require.Equal(b, p.read, r.counted.records)
		require.NoError(b, r.file.Close())
	})
}

// portions is a reader whose records end after each portion.
type portions struct {
	live
	left int
	read uint64
}

func openPortions(b *testing.B, o *reader.Options) *portions {
	live, err := openLive(o)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, live.Close()) })
	return &portions{live: live}
}

func (p *portions) Next(ev *reader.Event) error {
	if p.left == 0 {
		return io.EOF
	}
	err := p.live.Next(ev)
	if err == nil {
		p.left--
		p.read++
	}
	return err
}

// portion is a number of records that fills about a quarter of a ring, at which the kernel wakes the tool.
const portion = 400

// measure writes records and measures read, which reads them. The first portion is not counted: it fills caches.
func (p *portions) measure(b *testing.B, write func(n int), read func() error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	b.ReportAllocs()
	some := func(n int) {
		b.StopTimer()
		write(n)
		p.left = n
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // longer than records are held back; only the figure depends on it
		b.StartTimer()
		require.NoError(b, read())
	}
	some(portion)
	b.ResetTimer()
	for left := b.N; left > 0; left -= portion {
		some(min(left, portion))
	}
	b.StopTimer()
}
