package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"io"
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

// table is a database in memory with names by id, which answers one query. A service in production imports the driver of its database.
type table map[string]string

func (t table) Open(string) (driver.Conn, error)             { return conn{t}, nil }
func (t table) Connect(context.Context) (driver.Conn, error) { return conn{t}, nil }
func (t table) Driver() driver.Driver                        { return t }

type conn struct{ table }

var errNotSupported = errors.New("not supported")

func (conn) Prepare(string) (driver.Stmt, error) { return nil, errNotSupported }
func (conn) Begin() (driver.Tx, error)           { return nil, errNotSupported }
func (conn) Close() error                        { return nil }

func (c conn) QueryContext(_ context.Context, _ string, args []driver.NamedValue) (driver.Rows, error) {
	id, _ := args[0].Value.(string)
	if name, found := c.table[id]; found {
		return &rows{name}, nil
	}
	return &rows{}, nil
}

// rows are the names that are left of an answer.
type rows []string

func (*rows) Columns() []string { return []string{"name"} }
func (*rows) Close() error      { return nil }

func (r *rows) Next(dest []driver.Value) error {
	if len(*r) == 0 {
		return io.EOF
	}
	dest[0], *r = (*r)[0], (*r)[1:]
	return nil
}
