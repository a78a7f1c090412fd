package output

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/userevents/userevents-go/internal/text"
)

// Table formats rows of text in columns. It escapes its cells, since programs choose some of the texts.
type Table struct {
	Header []string
	Rows   [][]string
	// Right marks right-aligned columns, such as numbers.
	Right map[int]bool
	// Width is the number of characters of a line; 0 means no limit. Cells of the first column are cut to it.
	Width int
}

// Add adds a row. It formats values like fmt.Sprint.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	t.Rows = append(t.Rows, row)
}

// String returns the lines of the table. Two spaces separate columns. Lines do not end in spaces.
func (t *Table) String() string {
	var widths []int
	var rows [][]string
	for _, row := range append([][]string{t.Header}, t.Rows...) {
		if len(row) == 0 {
			continue
		}
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = text.Printable(c)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cells[i]))
		}
		rows = append(rows, cells)
	}
	if sum := 2 * (len(widths) - 1); t.Width > 0 && len(widths) > 0 {
		for _, w := range widths {
			sum += w
		}
		widths[0] = max(1, widths[0]-max(0, sum-t.Width))
		for _, cells := range rows {
			cells[0] = Cut(cells[0], widths[0])
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, c := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if t.Right[i] {
				line.WriteString(pad + c)
			} else {
				line.WriteString(c + pad)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// Cut cuts the lines of a text to a number of characters.
func Cut(s string, columns int) string {
	lines := strings.SplitAfter(s, "\n")
	for i, line := range lines {
		n := 0
		for at := range line {
			if n == columns && line[at] != '\n' {
				lines[i] = line[:at]
				if strings.HasSuffix(line, "\n") {
					lines[i] += "\n"
				}
				break
			}
			n++
		}
	}
	return strings.Join(lines, "")
}
