package main

import (
	"fmt"
	"strings"
)

// style has the colours of all pictures, for light and dark mode. The background is part of the picture, since a viewer may show
// a light picture on a dark page.
const style = `<style>
.bg{fill:#ffffff}.text{fill:#1f2328}.weak{fill:#59636e}.grid{stroke:#d1d9e0}.own{fill:#0969da;stroke:#0969da}.other{fill:#818b98;stroke:#818b98}
.box{fill:#f6f8fa;stroke:#818b98}.mark{fill:#ddf4ff;stroke:#0969da}.arrow{stroke:#59636e}.head{fill:#59636e}.bold{font-weight:600}.mono{font-family:monospace}
@media (prefers-color-scheme:dark){
.bg{fill:#0d1117}.text{fill:#f0f6fc}.weak{fill:#9198a1}.grid{stroke:#3d444d}.own{fill:#4493f8;stroke:#4493f8}.other{fill:#9198a1;stroke:#9198a1}
.box{fill:#151b23;stroke:#656c76}.mark{fill:#121d2f;stroke:#4493f8}.arrow{stroke:#9198a1}.head{fill:#9198a1}}
</style>`

// picture is an SVG image.
type picture struct{ b strings.Builder }

func newPicture(width, height int, title string) *picture {
	p := new(picture)
	p.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="13" role="img">`,
		width, height, width, height)
	p.add("<title>%s</title>", escape(title))
	p.add("%s", style)
	p.add(`<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>`)
	p.add(`<rect class="bg" width="100%%" height="100%%"/>`)
	return p
}

func (p *picture) add(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

// end returns the file.
func (p *picture) end() string { return p.b.String() + "</svg>\n" }

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// text writes a line. The anchor is start, middle or end.
func (p *picture) text(x, y int, anchor, class, s string) {
	p.add(`<text class="%s" x="%d" y="%d" text-anchor="%s">%s</text>`, class, x, y, anchor, escape(s))
}

// line draws a line of the grid.
func (p *picture) line(x1, y1, x2, y2 int) {
	p.add(`<line class="grid" x1="%d" y1="%d" x2="%d" y2="%d"/>`, x1, y1, x2, y2)
}

// arrow draws an arrow.
func (p *picture) arrow(x1, y1, x2, y2 int) {
	p.add(`<line class="arrow" x1="%d" y1="%d" x2="%d" y2="%d" stroke-width="1.5" marker-end="url(#head)"/>`, x1, y1, x2, y2)
}

// box draws a box with lines of text, the first of them bold.
func (p *picture) box(x, y, width, height int, class string, lines ...string) {
	p.add(`<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, class, x, y, width, height)
	for i, s := range lines {
		of := "weak"
		if i == 0 {
			of = "text bold"
		}
		p.text(x+width/2, y+20+i*17, "middle", of, s)
	}
}
