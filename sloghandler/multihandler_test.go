//go:build go1.26

package sloghandler_test

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/sloghandler"
)

// TestMultiHandler: slog.MultiHandler asks each handler for itself.
func TestMultiHandler(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{})
	var out strings.Builder
	log := slog.New(slog.NewMultiHandler(slog.NewTextHandler(&out, nil), h)).With("a", 1)
	log.Info("both")
	log.Debug("only the event")
	assert.Len(t, tr.Records(), 2)
	assert.Contains(t, out.String(), "both")
	assert.NotContains(t, out.String(), "event")
}

// overwriting is a handler that changes the attributes that it is given, as it may.
type overwriting struct{ slog.Handler }

func (h overwriting) WithAttrs(attrs []slog.Attr) slog.Handler {
	for i := range attrs {
		attrs[i] = slog.String("overwritten", "x")
	}
	return h
}

// TestMultiHandlerSibling: what another handler does with the attributes that it is given changes nothing.
func TestMultiHandlerSibling(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{})
	group := []slog.Attr{slog.Int("in", 1)}
	log := slog.New(slog.NewMultiHandler(h, overwriting{slog.DiscardHandler})).With("a", 1, slog.Attr{Key: "g", Value: slog.GroupValue(group...)})
	group[0] = slog.Int("in", 2)
	log.Info("m")
	assert.Equal(t, `{"a":1,"g":{"in":1}}`, only(t, tr).json)
}

// TestMultiHandlerAttrs: slog.MultiHandler gives all handlers the same slice of attributes. Those behind ours must not see what
// our ReplaceAttr makes of them.
func TestMultiHandlerAttrs(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "password" {
			return slog.String(a.Key, "redacted")
		}
		return a
	}})
	var out bytes.Buffer
	log := slog.New(slog.NewMultiHandler(h, slog.NewTextHandler(&out, nil)))
	log.With("password", "secret", "v", valuer{slog.StringValue("resolved")}, "any", []int{1}).Info("m")
	assert.Contains(t, out.String(), "password=secret")
	assert.Contains(t, out.String(), "any=[1]", "as the text handler writes it")
	assert.Equal(t, `{"password":"redacted","v":"resolved","any":[1]}`, only(t, tr).json)
}

func BenchmarkDisabled(b *testing.B) {
	h, _ := modelled(b, sloghandler.Options{})
	for _, c := range []struct {
		name string
		h    slog.Handler
	}{
		{"discard", slog.DiscardHandler},
		{"level", h},
		{"multi", slog.NewMultiHandler(slog.DiscardHandler, h)},
	} {
		b.Run(c.name, func(b *testing.B) {
			log := slog.New(c.h)
			b.ReportAllocs()
			for b.Loop() {
				request(log)
			}
		})
	}
}

// BenchmarkSecond is what a program pays for the quiet second handler beside its JSON handler.
func BenchmarkSecond(b *testing.B) {
	h, _ := modelled(b, sloghandler.Options{})
	json := slog.NewJSONHandler(io.Discard, nil)
	for _, c := range []struct {
		name string
		h    slog.Handler
	}{
		{"json", json},
		{"json+quiet", slog.NewMultiHandler(json, h)},
	} {
		b.Run(c.name, func(b *testing.B) {
			log := slog.New(c.h)
			b.ReportAllocs()
			for b.Loop() {
				request(log)
			}
		})
	}
}
