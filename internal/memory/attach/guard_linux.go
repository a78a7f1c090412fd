package attach

import (
	"errors"

	"github.com/userevents/userevents-go/internal/sys"
)

// errCutOff says that the program's files are not what they were: it can change their size at any time.
var errCutOff = errors.New("a file of the process was cut off")

// guard calls a function that uses the memory. If this consists of files, and one was cut off, zeros take its place: the program has
// lost what was in it, and the tool goes on.
func (p *Program) guard(call func()) {
	if !p.named {
		call()
	} else if cause := sys.Try(call); cause != nil {
		p.abandon(cause)
	}
}

func (p *Program) abandon(cause sys.Fault) {
	p.cut = true
	known := false
	for _, m := range p.mappings() {
		known = known || sys.In(m, cause.Addr())
		if err := sys.ZeroBytes(m); err != nil {
			panic(err)
		}
	}
	if !known {
		panic(cause)
	}
}

// mappings are those of the program and of the sessions.
func (p *Program) mappings() (list [][]byte) {
	for _, m := range append(p.areas[:], p.bytes, p.writable) {
		if m != nil {
			list = append(list, m)
		}
	}
	return list
}
