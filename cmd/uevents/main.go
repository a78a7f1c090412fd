// Command uevents reads Linux user_events: it lists registered events, attaches to running programs, and shows, counts
// and records their logs, spans and metrics.
//
//	go install github.com/userevents/userevents-go/cmd/uevents@latest
//
// Run uevents help for a list of commands.
package main

import (
	"os"

	"github.com/userevents/userevents-go/cmd/uevents/internal/cli"
)

func main() { os.Exit(cli.Main()) }
