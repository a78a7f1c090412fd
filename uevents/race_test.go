//go:build race

package uevents_test

const raceEnabled = true
