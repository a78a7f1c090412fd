// Command subject prints the return addresses of one of its stacks and the Go runtime's names for them, then waits for
// the end of its input.
package main

import (
	"encoding/json"
	"io"
	"os"
	"runtime"
)

type frame struct {
	PC   uint64
	Func string
	File string
	Line int
}

type server[T any] struct{ name T }

func small(f func()) { f() } // is inlined

func smaller(f func()) { // is inlined, with small in it
	small(f)
}

//go:noinline
func (s *server[T]) handle(report func()) {
	smaller(report)
}

//go:noinline
func deep(n int, s *server[string], report func()) {
	if n > 0 {
		deep(n-1, s, report)
		return
	}
	func() {
		defer func() { s.name = "done" }()
		s.handle(report)
	}()
}

func main() {
	deep(2, &server[string]{name: "a"}, func() {
		pcs := make([]uintptr, 64)
		pcs = pcs[:runtime.Callers(1, pcs)]
		var frames []frame
		for _, pc := range pcs {
			// Resolve one address at a time: otherwise the runtime does not tell which physical function a frame
			// belongs to.
			f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
			frames = append(frames, frame{uint64(pc), f.Function, f.File, f.Line})
		}
		if err := json.NewEncoder(os.Stdout).Encode(frames); err != nil {
			panic(err)
		}
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			panic(err)
		}
	})
}
