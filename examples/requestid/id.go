package main

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
)

const requestIDHeader = "X-Request-Id"

type requestIDKey struct{}

// withRequestID puts the id of each request into its context, and into the header of the response: the id that the caller sent, the
// trace id of the caller's traceparent, or a new one.
func withRequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := callersID(r.Header)
		if id == "" {
			id = rand.Text()
		}
		w.Header().Set(requestIDHeader, id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id)))
	})
}

// requestID returns the id of the request that a context belongs to, or "".
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// requestAttrs is a function for sloghandler.Options.AttrFromContext: it adds the id to each record of a request.
func requestAttrs(ctx context.Context) []slog.Attr {
	if id := requestID(ctx); id != "" {
		return []slog.Attr{slog.String("request_id", id)}
	}
	return nil
}

// The caller may be hostile: other values are ignored. A text of up to 64 bytes is in a record whole.
var (
	validID     = regexp.MustCompile(`^[0-9A-Za-z_.:=+/-]{1,64}$`)
	traceparent = regexp.MustCompile(`^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$`) // https://www.w3.org/TR/trace-context/
)

// callersID returns the id in the headers of a request, or "".
func callersID(h http.Header) string {
	if id := h.Get(requestIDHeader); validID.MatchString(id) {
		return id
	}
	if m := traceparent.FindStringSubmatch(h.Get("traceparent")); m != nil && strings.Trim(m[1], "0") != "" {
		return m[1]
	}
	return ""
}
