//go:build !race

package structevent_test

const raceEnabled = false
