//go:build (darwin || dragonfly || freebsd || netbsd || openbsd) && !386 && !arm && !mips && !mipsle

package memory

// meetTool does nothing: tools find programs on Linux only.
func meetTool() {}
