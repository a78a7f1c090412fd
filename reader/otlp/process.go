package otlp

import (
	"path"

	"github.com/userevents/userevents-go/reader"
)

// processOf returns the name of the program that wrote an event and the id of its container, or "" if unknown.
func processOf(ev *reader.Event) (program, container string) {
	if ev.Process == nil {
		return "", ""
	}
	program = ev.Process.Comm
	if ev.Process.Exe != "" {
		program = path.Base(ev.Process.Exe)
	}
	return program, ev.Process.ContainerID
}
