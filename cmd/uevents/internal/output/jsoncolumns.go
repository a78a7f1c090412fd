package output

import (
	"slices"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/reader"
)

// jsonColumn is a column as a member of a JSON object.
type jsonColumn struct {
	key    shortText // the comma, the name and the colon in front of a value
	append func(b []byte, from *reader.Event, c *clock, json bool) []byte
}

// jsonField is a selected column or field.
type jsonField struct {
	key shortText
	selected
}

func memberKey(name string) (k shortText) {
	k.set(append(attrjson.AppendString([]byte{','}, name), ':'))
	return k
}

var jsonColumns = func() (list []*jsonColumn) {
	for _, c := range columns {
		list = append(list, &jsonColumn{memberKey(c.name), c.append})
	}
	return list
}()

// Columns with the same values in most consecutive events.
var (
	nameColumns    = columnRange("system", "severity_text")
	processColumns = columnRange("program", "process_service")
	threadColumns  = columnRange("tid", "cpu") // behind those of the process
)

// columnRange returns the columns between two of them, and these.
func columnRange(first, last string) []*jsonColumn {
	return jsonColumns[indexOf(first) : indexOf(last)+1]
}

// around has the other columns of events that have parts, in order: those before nameColumns, those behind them, and those behind
// threadColumns.
var around = func() (lists [allParts + 1][3][]*jsonColumn) {
	same := slices.Concat(nameColumns, processColumns, threadColumns)
	for have := range lists {
		for i, c := range jsonColumns {
			if slices.Contains(same, c) || columns[i].part&^part(have) != 0 {
				continue
			}
			at := 0
			switch {
			case i > indexOf("cpu"):
				at = 2
			case i > indexOf("severity_text"):
				at = 1
			}
			lists[have][at] = append(lists[have][at], c)
		}
	}
	return lists
}()
