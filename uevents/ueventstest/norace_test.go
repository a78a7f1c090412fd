//go:build !race

package ueventstest

const raceEnabled = false
