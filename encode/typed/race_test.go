//go:build race

package typed_test

// The race detector allocates on its own.
const raceEnabled = true
