package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/leakcheck"
)

// TestCallersID: of the values in a request, only those that a tool can show are taken.
func TestCallersID(t *testing.T) {
	const (
		id     = "7f3c0d1e-5b5a-4c8e-9a39-0d9b1f6f3d11"
		trace  = "4bf92f3577b34da6a3ce929d0e0e4736"
		parent = "00-" + trace + "-00f067aa0ba902b7-01"
	)
	for _, c := range []struct{ requestID, traceparent, want string }{
		{"", "", ""},
		{id, "", id},
		{"", parent, trace},
		{id, parent, id},
		{"a b", parent, trace},
		{strings.Repeat("a", 64), "", strings.Repeat("a", 64)},
		{strings.Repeat("a", 65), "", ""},
		{strings.Repeat("a", 1<<20), "", ""},
		{id + "\n", "", ""},
		{"\x1b[2J", "", ""},
		{`"}`, "", ""},
		{"\xff", "", ""},
		{"ü", "", ""},
		{"", "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01", ""},
		{"", strings.ToUpper(parent), ""},
		{"", "ff" + parent[2:], ""},
		{"", parent + "-more", ""},
		{"", parent + "\n", ""},
		{"", parent[:54], ""},
	} {
		h := http.Header{}
		h.Set("X-Request-Id", c.requestID)
		h.Set("Traceparent", c.traceparent)
		assert.Equal(t, c.want, callersID(h), "%q %q", c.requestID, c.traceparent)
	}
}

// TestWithRequestID: a request without an id gets one of its own, and the response has it.
func TestWithRequestID(t *testing.T) {
	var ids []string
	handler := withRequestID(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ids = append(ids, requestID(r.Context()))
		assert.Equal(t, ids[len(ids)-1], requestAttrs(r.Context())[0].Value.String())
	}))
	for n := range 2 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		assert.Equal(t, ids[n], w.Header().Get("X-Request-Id"))
		assert.Regexp(t, validID, ids[n])
	}
	assert.NotEqual(t, ids[0], ids[1])
	assert.Empty(t, requestID(t.Context()))
	assert.Empty(t, requestAttrs(t.Context()))
}

// envProgram makes the test binary the program.
const envProgram = "USER_EVENTS_TEST_REQUESTID"

func TestMain(m *testing.M) {
	if os.Getenv(envProgram) != "" {
		main()
		return
	}
	leakcheck.Main(m)
}
