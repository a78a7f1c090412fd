package output

// Colors of [Paint].
const (
	Red    = red
	Green  = green
	Yellow = yellow
	Faint  = faint
)

// Paint returns a text in a color if colors are in use: see [UseColor].
func Paint(use bool, color, s string) string {
	if !use {
		return s
	}
	return color + s + reset
}
