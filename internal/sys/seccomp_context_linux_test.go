//go:build !386 && !arm && !mips && !mipsle

package sys_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/userevents/userevents-go/internal/processcontext"
	"github.com/userevents/userevents-go/internal/testscale"
)

// envContext makes TestSeccompProcessContext a program that may not do some system calls.
const envContext = "SYS_TEST_CONTEXT"

// TestSeccompProcessContext: a process context is published where a filter refuses one of two system calls. Where it refuses both, the
// error has them, and nothing is left behind.
func TestSeccompProcessContext(t *testing.T) {
	testscale.HostOnly(t)
	const (
		without = "no reader can find a process context without a name: "
		memfd   = "memfd_create: operation not permitted"
	)
	filters := map[string]struct {
		refused []uint32
		says    []string // one of them; kernels have names of mappings, or not
	}{
		"nothing":                   {nil, []string{"<nil>"}},
		"no memfd_create":           {[]uint32{unix.SYS_MEMFD_CREATE}, []string{"<nil>", without + memfd + "; prctl: invalid argument"}},
		"no prctl":                  {[]uint32{unix.SYS_PRCTL}, []string{"<nil>"}},
		"no memfd_create, no prctl": {[]uint32{unix.SYS_MEMFD_CREATE, unix.SYS_PRCTL}, []string{without + memfd + "; prctl: operation not permitted"}},
	}
	if filter, ok := os.LookupEnv(envContext); ok {
		for _, call := range filters[filter].refused {
			require.NoError(t, refuse(call, unix.EPERM))
		}
		c, err := processcontext.Publish([]processcontext.Attribute{{Key: "service.name", Value: "shop"}})
		fmt.Println("says:", err)
		resource, readErr := processcontext.Read("/proc/self")
		assert.Equal(t, err == nil, readErr == nil)
		assert.Equal(t, err == nil, len(resource) == 1)
		assert.NoError(t, c.Close())
		return
	}
	for filter, f := range filters {
		t.Run(filter, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestSeccompProcessContext$", "-test.v")
			cmd.Env = append(os.Environ(), envContext+"="+filter)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			_, said, _ := strings.Cut(string(out), "says: ")
			said, _, _ = strings.Cut(said, "\n")
			assert.Contains(t, f.says, said)
		})
	}
}
