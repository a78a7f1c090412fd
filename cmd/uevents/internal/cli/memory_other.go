//go:build !linux || 386 || arm || mips || mipsle

package cli

// memoryPrograms lists none: only 64-bit Linux shows the memory of programs to others.
func memoryPrograms() (list []memoryProgram, refused, err error) { return nil, nil, nil }

func isUnusable(error) bool { return false }
