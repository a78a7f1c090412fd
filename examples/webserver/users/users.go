// Package users serves users over HTTP. It logs through slog, and knows nothing of tracing.
package users

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
)

// ErrNotFound is the error of a user that does not exist.
var ErrNotFound = errors.New("no such user")

// User is a user.
type User struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// names has the users of the database.
var names = map[int]string{1: "ada", 2: "grace", 3: "barbara"}

// Store reads users, and keeps those that were read. The zero value is ready to use, also by several goroutines.
type Store struct {
	mu   sync.Mutex
	kept map[int]User
}

// Find returns a user.
func (s *Store) Find(ctx context.Context, id int) (User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u, ok := s.kept[id]; ok {
		slog.DebugContext(ctx, "cache hit", "user", id)
		return u, nil
	}
	slog.DebugContext(ctx, "cache miss", "user", id, "cached", len(s.kept))
	return s.query(ctx, id)
}

// query asks the database. The caller holds the lock.
func (s *Store) query(ctx context.Context, id int) (User, error) {
	name, ok := names[id]
	if !ok {
		slog.WarnContext(ctx, "query failed", "user", id, "err", ErrNotFound)
		return User{}, ErrNotFound
	}
	if s.kept == nil {
		s.kept = map[int]User{}
	}
	s.kept[id] = User{id, name}
	return s.kept[id], nil
}

// Handler serves GET /users/{id}.
func (s *Store) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusOK
		id, err := strconv.Atoi(r.PathValue("id"))
		var u User
		if err == nil {
			u, err = s.Find(r.Context(), id)
		}
		if err != nil {
			status = http.StatusNotFound
			http.Error(w, err.Error(), status)
		} else if err := json.NewEncoder(w).Encode(u); err != nil {
			slog.ErrorContext(r.Context(), "response not sent", "err", err)
		}
		slog.InfoContext(r.Context(), "request served", "route", r.Pattern, "status", status)
	})
	return mux
}
