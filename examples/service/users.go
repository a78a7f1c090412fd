package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/XSAM/otelsql"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
)

// openUsers returns a database with three users, whose queries are spans.
func openUsers() *sql.DB {
	users := table{"1": "Ada", "2": "Barbara", "3": "Grace"}
	return otelsql.OpenDB(users, otelsql.WithSpanOptions(otelsql.SpanOptions{OmitConnResetSession: true, OmitRows: true}))
}

// newHandler serves users as JSON. Requests are spans.
func newHandler(log *slog.Logger, db *sql.DB) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(w http.ResponseWriter, r *http.Request) {
		log.DebugContext(r.Context(), "looking for user", "id", r.PathValue("id"))
		var name string
		begin := time.Now()
		err := db.QueryRowContext(r.Context(), "SELECT name FROM users WHERE id = ?", r.PathValue("id")).Scan(&name)
		log.DebugContext(r.Context(), "queried", "duration", time.Since(begin), "err", err)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			log.WarnContext(r.Context(), "no such user", "id", r.PathValue("id"))
			http.NotFound(w, r)
		case err != nil:
			log.ErrorContext(r.Context(), "query failed", "err", err)
			http.Error(w, "internal error", http.StatusInternalServerError)
		default:
			log.InfoContext(r.Context(), "user served", "id", r.PathValue("id"))
			_ = json.NewEncoder(w).Encode(map[string]string{"name": name}) // an error means that the client is gone
		}
	})
	return otelhttp.NewHandler(mux, "server")
}
