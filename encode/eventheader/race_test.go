//go:build race

package eventheader

const raceEnabled = true
