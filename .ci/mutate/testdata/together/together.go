// Package together has tests that pass alone, and fail in one process.
package together

var count int

func add() { count++ }
