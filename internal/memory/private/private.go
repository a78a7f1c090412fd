// Package private gives the shared memory of a test's programs a name of its own: no tool of the machine attaches to them, and tools of the
// test attach to no other program. Tests import it for this effect. Programs and tools that a test starts have the same name if they import
// it, too, and have the test's environment.
package private

import (
	"crypto/rand"
	"os"

	"github.com/userevents/userevents-go/internal/memory/layout"
)

// Env is the environment variable that has the name.
const Env = "USEREVENTS_TEST_MEMORY"

// LinkerFlags returns the value of go build's flag -ldflags with which a command has the name, too.
func LinkerFlags() string {
	const flag = "-X github.com/userevents/userevents-go/internal/memory/layout."
	return flag + "DataName=" + layout.DataName + " " + flag + "ControlName=" + layout.ControlName
}

func init() {
	name := os.Getenv(Env)
	if name == "" {
		name = rand.Text()
		if err := os.Setenv(Env, name); err != nil {
			panic(err) // the name is valid
		}
	}
	layout.DataName, layout.ControlName = "userevents-"+name+"-data", "userevents-"+name+"-control"
}
