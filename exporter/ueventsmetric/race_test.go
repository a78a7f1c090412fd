//go:build race

package ueventsmetric_test

const raceEnabled = true
