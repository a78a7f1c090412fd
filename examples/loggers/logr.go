package main

import (
	"errors"
	"log/slog"

	"github.com/go-logr/logr"
)

// newLogr returns a logger for code that calls logr, such as Kubernetes controllers (ctrl.SetLogger, klog.SetLogger). Its
// records go to the handler of the output, and to events while a tool is attached.
func newLogr(output, events slog.Handler) logr.Logger {
	return logr.FromSlogHandler(slog.NewMultiHandler(output, events))
}

// serveLogr is serve for logr, which counts verbosity upwards: V(4) is slog's debug.
func serveLogr(log logr.Logger, n int) {
	log = log.WithName("controller").WithValues("request", n)
	log.V(4).Info("cache miss", "key", "user:41")
	log.Info("request served", "route", "/users/{id}", "status", 200)
	log.Error(errors.New("connection reset"), "query failed", "user", 41)
}
