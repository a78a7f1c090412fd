//go:build !race

package eventheader

const raceEnabled = false
