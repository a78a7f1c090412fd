//go:build race

package testscale

// Race says that the race detector is on, which allocates and adds instructions.
const Race = true
