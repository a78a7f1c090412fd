//go:build linux && !386 && !arm && !mips && !mipsle

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/memory/private"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// TestRun: nothing is recorded until the command attaches, which then prints records of the requests.
func TestRun(t *testing.T) {
	testscale.NeedLoopback(t)
	testscale.HostOnly(t)
	t.Setenv(uevents.EnvTransport, uevents.TransportMemory.String())
	testscale.UsesCheckout()
	command := filepath.Join(t.TempDir(), "uevents")
	build := exec.Command("go", "build", "-ldflags", private.LinkerFlags(), "-o", command, ".")
	build.Dir = "../../cmd/uevents"
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)

	var out syncbuffer.Buffer
	require.NoError(t, run(t.Context(), &out, []string{command}))
	text := out.String()
	assert.Contains(t, text, "transport: memory")
	assert.Contains(t, text, "Nothing is attached: 100 requests, 0 records written.\n")
	_, shown, _ := strings.Cut(text, "$ uevents watch quickstart --level debug -n 12\n")
	records := 0
	for line := range strings.Lines(shown) {
		if strings.Contains(line, "quickstart") && strings.Contains(line, " DEBUG ") {
			records++
		}
	}
	assert.NotZero(t, records, "%s", text)
}
