package benchmarks

import (
	"bytes"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
)

// BenchmarkRequest is the logger of a request: bound to three attributes and used once, while its level is disabled (off) and enabled
// (on), and bound to an error while its level is disabled (error). slog.JSONHandler writes to io.Discard: no system call is in its figures.
func BenchmarkRequest(b *testing.B) {
	run(b, "slog-discard/error", call{log: slogCall(slog.DiscardHandler, failed)})
	run(b, "slog-discard/off", call{log: slogCall(slog.DiscardHandler, request)})
	off, on := slog.NewJSONHandler(io.Discard, slogOptions(false)), slog.NewJSONHandler(io.Discard, slogOptions(true))
	run(b, "slog-json/error", call{log: slogCall(off, failed)})
	run(b, "slog-json/off", call{log: slogCall(off, request)})
	run(b, "slog-json/on", call{log: slogCall(on, request)})
	ownRequests(b)
}

// TestRequestJSON: the record is whole, and not written while its level is disabled.
func TestRequestJSON(t *testing.T) {
	var out bytes.Buffer
	slogCall(slog.NewJSONHandler(&out, slogOptions(false)), request)()
	assert.Empty(t, out.String())
	slogCall(slog.NewJSONHandler(&out, slogOptions(true)), request)()
	for _, part := range request.parts() {
		assert.Contains(t, out.String(), part)
	}
}
