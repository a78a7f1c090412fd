package uevents_test

import (
	"fmt"
	"testing"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// benchEvent registers an event on the real kernel, with a group.
func benchEvent(b *testing.B, traced bool) (*uevents.Event, *uevents.Group) {
	fs := kerneltest.Require(b)
	p, err := uevents.Open(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Close() })
	g := p.NewGroup()
	ev, err := p.Register(tracepoint.Declaration{Name: newName()}, &uevents.EventOptions{Groups: []*uevents.Group{g}})
	if err != nil {
		b.Fatal(err)
	}
	if traced {
		kerneltest.NewInstance(b, fs, 1024).Attach(ev.Name())
	}
	b.ReportAllocs()
	b.ResetTimer() // attaching waits for the kernel
	return ev, g
}

func BenchmarkEnabled(b *testing.B) {
	ev, _ := benchEvent(b, false)
	for range b.N {
		if ev.Enabled() {
			b.Fatal("no tool is attached")
		}
	}
}

func BenchmarkGroupEnabled(b *testing.B) {
	_, g := benchEvent(b, false)
	for range b.N {
		if g.Enabled() {
			b.Fatal("no tool is attached")
		}
	}
}

// BenchmarkGroupSize is the disabled check of a group, by its number of events.
func BenchmarkGroupSize(b *testing.B) {
	kerneltest.Require(b)
	for _, n := range []int{1, 32, 64, 65, 200, 1000} {
		p, err := uevents.Open(nil)
		if err != nil {
			b.Fatal(err)
		}
		g := p.NewGroup()
		for range n {
			if _, err := p.Register(tracepoint.Declaration{Name: newName()}, &uevents.EventOptions{Groups: []*uevents.Group{g}}); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("Enabled/%d", n), func(b *testing.B) {
			for range b.N {
				if g.Enabled() {
					b.Fatal("no tool is attached")
				}
			}
		})
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteUntraced(b *testing.B) {
	ev, _ := benchEvent(b, false)
	buf := make([]byte, uevents.IndexSize+44)
	for range b.N {
		_, _ = ev.WriteRecord(buf)
	}
}

func BenchmarkWriteTraced(b *testing.B) {
	ev, _ := benchEvent(b, true)
	buf := make([]byte, uevents.IndexSize+44)
	for range b.N {
		if _, err := ev.WriteRecord(buf); err != nil {
			b.Fatal(err)
		}
	}
}
