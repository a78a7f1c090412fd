package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/userevents/userevents-go/benchmarks/internal/figures"
)

// plot shows a row for each contender, with dots on a common scale. Bars would mislead on a logarithmic one.
type plot struct {
	title       string
	first, last float64 // of the scale
	logarithmic bool
	ticks       []float64
	rows        []plotRow
}

type plotRow struct {
	contender string
	values    []float64 // a dot each, the last one filled
	figure    string    // beside the last dot
}

func (p *plot) svg() string {
	const row, left, width, top = 24, 350, 430, 34
	at := func(v float64) int {
		share := (v - p.first) / (p.last - p.first)
		if p.logarithmic {
			share = math.Log(v/p.first) / math.Log(p.last/p.first)
		}
		return left + int(width*share)
	}
	bottom := top + row*len(p.rows)
	s := newPicture(left+width+90, bottom+30, p.title)
	s.text(left+width+80, 20, "end", "text bold", p.title)
	for _, v := range p.ticks {
		s.line(at(v), top-4, at(v), bottom)
		s.text(at(v), bottom+16, "middle", "weak", thousands(v))
	}
	for i, r := range p.rows {
		y := top + i*row
		class, name := "other", "text"
		if own(r.contender) {
			class, name = "own", "text bold"
		}
		s.text(left-10, y+13, "end", name, plain(r.contender))
		s.line(left, y+8, left+width, y+8)
		last := len(r.values) - 1
		for k, v := range r.values {
			if k < last {
				s.add(`<circle class="%s" cx="%d" cy="%d" r="4" fill-opacity="0" stroke-width="1.5"/>`, class, at(v), y+8)
				continue
			}
			s.add(`<circle class="%s" cx="%d" cy="%d" r="6"/>`, class, at(v), y+8)
		}
		s.text(at(slices.Max(r.values))+12, y+13, "start", "text", r.figure)
	}
	return s.end()
}

// plotCalls shows the instructions of each logger's call with five attributes.
func plotCalls(run *figures.Run, name, title string, first, last float64) (string, error) {
	list := group(run, name, "five")
	if len(list) == 0 {
		return "", fmt.Errorf("no figure for %s", name)
	}
	p := plot{title: title, first: first, last: last, logarithmic: true}
	for v := first; v <= last; v *= 10 {
		p.ticks = append(p.ticks, v)
	}
	for _, contender := range list {
		v := run.Figures[name+"/"+contender+"/five"].Cost
		if _, err := label(name, contender); err != nil {
			return "", err
		}
		if v < first || v > last {
			return "", fmt.Errorf("outside of the scale: %s of %s: %g", name, contender, v)
		}
		p.rows = append(p.rows, plotRow{contender, []float64{v}, thousands(v)})
	}
	return p.svg(), nil
}

func plotOff(run *figures.Run) (string, error) {
	return plotCalls(run, "Off", "instructions of a disabled log call with five attributes, logarithmic scale", 10, 1000)
}

func plotOn(run *figures.Run) (string, error) {
	return plotCalls(run, "On", "instructions of an enabled log call with five attributes, logarithmic scale", 1000, 200_000)
}

// plotParallel shows the calls per second of 2, 8 and, filled, 64 goroutines, relative to those of one.
func plotParallel(run *figures.Run) (string, error) {
	p := plot{
		title: "calls per second of 2, 8 (rings) and 64 goroutines (dot), relative to one; two processors, records written",
		last:  3, ticks: []float64{0, 0.5, 1, 1.5, 2, 2.5, 3},
	}
	contenders := group(run, "Parallel/on", "goroutines=64")
	if len(contenders) == 0 {
		return "", fmt.Errorf("no figure for Parallel/on")
	}
	for _, contender := range contenders {
		r := plotRow{contender: contender}
		one, err := cost(run, fmt.Sprintf("Parallel/on/%s/goroutines=1", contender))
		if err != nil {
			return "", err
		}
		for _, n := range []int{2, 8, 64} {
			v, err := cost(run, fmt.Sprintf("Parallel/on/%s/goroutines=%d", contender, n))
			if err != nil {
				return "", err
			}
			r.values = append(r.values, one/v)
		}
		r.figure = fmt.Sprintf("%.2f", r.values[2])
		if slices.Max(r.values) > p.last {
			return "", fmt.Errorf("outside of the scale: Parallel/on of %s: %g", contender, r.values)
		}
		p.rows = append(p.rows, r)
	}
	slices.SortStableFunc(p.rows, func(a, b plotRow) int { return cmp.Compare(b.values[2], a.values[2]) })
	return p.svg(), nil
}
