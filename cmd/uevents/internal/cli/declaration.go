package cli

import (
	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/tracepoint"
)

// printable returns a text of another program as one line of printable characters.
func printable(s string) string { return string(text.AppendPrintable(nil, s)) }

// eventJSON is an event in JSON, as all commands that print events write it.
type eventJSON struct {
	System      string      `json:"system"`
	Name        string      `json:"name"`
	Declaration string      `json:"declaration"`
	Fields      []fieldJSON `json:"fields"`
}

// fieldJSON is a field of an event in JSON.
type fieldJSON struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// newEventJSON returns the declaration of a user event in JSON.
func newEventJSON(system string, d tracepoint.Declaration) eventJSON {
	e := eventJSON{System: system, Name: d.Name, Declaration: d.String(), Fields: []fieldJSON{}}
	for _, f := range d.Fields {
		e.Fields = append(e.Fields, fieldJSON{f.Name, f.Type.String()})
	}
	return e
}
