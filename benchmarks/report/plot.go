package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/userevents/userevents-go/benchmarks/internal/figures"
)

const (
	ownColor   = "#2f6f9f"
	otherColor = "#9aa5b1"
)

func svg(b *strings.Builder, width, height int) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13">`+"\n", width, height)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
}

func color(contender string) string {
	if own(contender) {
		return ownColor
	}
	return otherColor
}

// plotOn draws a dot for each logger's enabled call with five attributes. Bars would mislead on a logarithmic scale.
func plotOn(run *figures.Run) (string, error) {
	const row, left, width, first = 24, 340, 440, 1000
	list := group(run, "On", "five")
	if len(list) == 0 {
		return "", fmt.Errorf("no figure for On")
	}
	most := run.Figures["On/"+list[len(list)-1]+"/five"].Cost
	length := func(v float64) int { return int(width * math.Log(v/first) / math.Log(most/first)) }
	var b strings.Builder
	svg(&b, left+width+80, row*len(list)+70)
	fmt.Fprintf(&b, `<text x="%d" y="20">instructions of an enabled log call with five attributes, logarithmic</text>`+"\n", left)
	bottom := 32 + row*len(list)
	for v := float64(first); v <= most; v *= 10 {
		x := left + length(v)
		fmt.Fprintf(&b, `<line x1="%d" y1="28" x2="%d" y2="%d" stroke="#dddddd"/><text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n",
			x, x, bottom, x, bottom+16, thousands(v))
	}
	for i, contender := range list {
		y, v := 32+i*row, run.Figures["On/"+contender+"/five"].Cost
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text><line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#eeeeee"/><circle cx="%d" cy="%d" r="6" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n",
			left-8, y+13, plain(contender), left, y+8, left+width, y+8, left+length(v), y+8, color(contender), left+length(v)+12, y+13, thousands(v))
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}

// plotParallel draws a line for each logger: the calls per second of several goroutines, relative to those of one.
func plotParallel(run *figures.Run) (string, error) {
	const left, top, width, height, most = 50, 40, 420, 260, 2.5
	counts := []int{1, 2, 8, 64}
	contenders := group(run, "Parallel/on", "goroutines=1")
	if len(contenders) == 0 {
		return "", fmt.Errorf("no figure for Parallel/on")
	}
	at := func(i int, ratio float64) (x, y int) {
		return left + i*width/(len(counts)-1), top + int(height*(1-min(ratio, most)/most))
	}
	var b strings.Builder
	svg(&b, left+width+370, top+height+50)
	fmt.Fprintf(&b, `<text x="%d" y="20">calls per second by goroutines, relative to one: two processors, records written</text>`+"\n", left)
	for ratio := 0.0; ratio <= most; ratio += 0.5 {
		_, y := at(0, ratio)
		fmt.Fprintf(&b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#dddddd"/><text x="%d" y="%d" text-anchor="end">%.1f</text>`+"\n", left, y, left+width, y, left-6, y+4, ratio)
	}
	for i, n := range counts {
		x, _ := at(i, 0)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%d</text>`+"\n", x, top+height+18, n)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">goroutines</text>`+"\n", left+width/2, top+height+38)
	dashes := []string{"", "6 3", "2 2", "8 3 2 3", "12 4", "1 3", "4 1"}
	for k, contender := range contenders {
		var points strings.Builder
		for i, n := range counts {
			one, err := cost(run, fmt.Sprintf("Parallel/on/%s/goroutines=1", contender))
			if err != nil {
				return "", err
			}
			v, err := cost(run, fmt.Sprintf("Parallel/on/%s/goroutines=%d", contender, n))
			if err != nil {
				return "", err
			}
			x, y := at(i, one/v)
			fmt.Fprintf(&points, "%d,%d ", x, y)
		}
		style := fmt.Sprintf(`stroke="%s" stroke-dasharray="%s" stroke-width="2"`, color(contender), dashes[k%len(dashes)])
		y := top + 10 + k*20
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" %s/><line x1="%d" y1="%d" x2="%d" y2="%d" %s/><text x="%d" y="%d">%s</text>`+"\n",
			strings.TrimSpace(points.String()), style, left+width+15, y, left+width+45, y, style, left+width+52, y+4, plain(contender))
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}
