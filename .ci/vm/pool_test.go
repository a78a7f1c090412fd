package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A machine that does not start is a problem of every test binary.
func TestNoMachine(t *testing.T) {
	r := newReport(io.Discard, "6.12-uml", false, false, false)
	w := worker{suite: &suite{machine: machine{kernel: "6.12-uml", image: "/nonexistent", init: "/x", dir: t.TempDir()}}, report: r}
	w.run(program{Package: "p"})
	w.run(program{Package: "q"})
	w.drop()
	for i, pkg := range []string{"p", "q"} {
		assert.Contains(t, r.problems[i], pkg+": start nonexistent: fork/exec /nonexistent: no such file or directory")
	}
}
