//go:build !race

package uevents_test

const raceEnabled = false
