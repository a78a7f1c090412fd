package cli

import "github.com/userevents/userevents-go/tracepoint"

// declarationJSON is a declaration in JSON.
type declarationJSON struct {
	System      string      `json:"system"`
	Name        string      `json:"name"`
	Declaration string      `json:"declaration"`
	Fields      []fieldJSON `json:"fields"`
}

// fieldJSON is a field of an event in JSON. Offset and Size, in bytes, come from the kernel, for events that it has.
type fieldJSON struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Offset  int      `json:"offset,omitempty"`
	Size    int      `json:"size,omitempty"`
	Filters []string `json:"filters,omitempty"`
}

// newDeclarationJSON returns the declaration of a user event in JSON.
func newDeclarationJSON(d tracepoint.Declaration) declarationJSON {
	e := declarationJSON{System: tracepoint.System, Name: d.Name, Declaration: d.String(), Fields: []fieldJSON{}}
	for _, f := range d.Fields {
		e.Fields = append(e.Fields, fieldJSON{Name: f.Name, Type: f.Type.String()})
	}
	return e
}

func declarationsJSON(declarations []tracepoint.Declaration) []declarationJSON {
	list := []declarationJSON{}
	for _, d := range declarations {
		list = append(list, newDeclarationJSON(d))
	}
	return list
}
