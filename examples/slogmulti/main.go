// Command slogmulti routes records with github.com/samber/slog-multi: text for people,
// tracepoints for tracing tools.
//
//	go run .
package main

import (
	"io"
	"log"
	"log/slog"
	"os"

	slogmulti "github.com/samber/slog-multi"

	"github.com/userevents/userevents-go/sloghandler"
)

func main() {
	events, err := sloghandler.New("slogmulti", nil)
	if err != nil {
		log.Print(err) // the program goes on; its events are never enabled
	}
	defer events.Close()
	serve(newLogger(os.Stdout, events))
}

// newLogger returns a logger whose records go to text, and to events while a tracing tool is attached.
// Fanout asks each handler's Enabled, so that nothing is encoded for events otherwise.
func newLogger(text io.Writer, events *sloghandler.Handler) *slog.Logger {
	return slog.New(slogmulti.Fanout(slog.NewTextHandler(text, nil), events))
}

func serve(logger *slog.Logger) {
	logger = logger.With("request", 1)
	logger.Debug("for the tracing tool only")
	logger.WithGroup("user").Info("served", "id", 7)
}
