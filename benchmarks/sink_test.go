package benchmarks

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// sink is a collector on this machine, which takes everything. It shares the processor with
// what sends to it, so its work is part of the figures: it is as little as it can be.
type sink struct {
	*httptest.Server
	bodies [][]byte // of the requests so far
}

// newSink starts one. It keeps what it gets only if asked to.
func newSink(tb testing.TB, keep bool) *sink {
	s := &sink{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if !keep {
			_, _ = io.Copy(io.Discard, r.Body)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			tb.Error(err)
		}
		s.bodies = append(s.bodies, body)
	}))
	tb.Cleanup(s.Close)
	return s
}
