// Package sample has operators whose changes its tests notice, and others.
package sample

const size = 4 * 2

var table [size - 1]int

const length = len(`a`+
	`b`) +
	3*size

func grade(n int) string {
	switch {
	case n > 90 && n != 95:
		return "high" + "est"
	case n < 10:
		return "low"
	}
	return "middle"
}

func sum(list []int) int {
	s := -1
	for i := 0; i < len(list); i++ {
		s += list[i]
	}
	return s
}

func nested(a, b int) bool {
	return -a*b < 0
}

func unused(counts map[string]int) {
	counts["a"]++
	if len(counts) == 0 || counts["b"] > 1 {
		counts["b"] -= 2
	}
}
