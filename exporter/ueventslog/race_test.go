//go:build race

package ueventslog_test

const raceEnabled = true
