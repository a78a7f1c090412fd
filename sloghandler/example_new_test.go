//go:build go1.26

package sloghandler_test

import (
	"log"
	"log/slog"
	"os"

	"github.com/userevents/userevents-go/sloghandler"
)

// Next to the handler that a program has.
func ExampleNew() {
	events, err := sloghandler.New("myapp", nil)
	if err != nil {
		log.Print(err) // events are not supported here; the handler works, and is never enabled
	}
	defer events.Close()
	withoutTime := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	logger := slog.New(slog.NewMultiHandler(slog.NewJSONHandler(os.Stdout, withoutTime), events))
	logger.Info("request served", "method", "GET", "status", 200)
	// Output: {"level":"INFO","msg":"request served","method":"GET","status":200}
}
