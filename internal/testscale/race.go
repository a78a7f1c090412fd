//go:build race

package testscale

// Race reports whether the race detector is on, which allocates and adds instructions.
const Race = true
