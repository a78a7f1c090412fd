// Package decoded has records as the tests of examples compare them.
package decoded

import (
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// Record has the fields of a record as text, and the name of its event as event.
type Record map[string]string

// Records decodes the records that a tool of a simulated kernel has got since the last call.
func Records(tool *ueventstest.Tool) (list []Record, err error) {
	for _, raw := range tool.Records() {
		decoder, err := typed.NewDecoder(raw.Declaration, nil)
		if err != nil {
			return nil, err
		}
		record, err := decoder.Decode(raw.Payload)
		if err != nil {
			return nil, err
		}
		r := Record{"event": raw.Event}
		for name, v := range record.All() {
			r[name] = string(v.AppendTo(nil))
		}
		list = append(list, r)
	}
	return list, nil
}
