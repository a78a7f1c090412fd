package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// documented are the outputs in the documents, between the lines "<!-- output NAME: ..." and "<!-- end of output -->".
var documented = []struct {
	name, file string
	args       []string
	last       string // a part of the last line before the interrupt
}{
	{"watch", "README.md", []string{"watch", "webserver", "--level", "debug"}, "status=404"},
	{"stack", "docs/getting-started.md", []string{"watch", "webserver_warn", "--stack"}, "net/http.(*conn).serve"},
}

// TestDocumentedOutput: the documents show what the command prints. "make outputs" writes it there.
func TestDocumentedOutput(t *testing.T) {
	testscale.HostOnly(t)
	t.Setenv(uevents.EnvTransport, uevents.TransportMemory.String())
	root, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	require.NoError(t, err)
	for _, d := range documented {
		t.Run(d.name, func(t *testing.T) {
			document, err := os.ReadFile(filepath.Join(root, d.file))
			require.NoError(t, err)
			got := outputOf(t, d.args, d.last)
			got = strings.ReplaceAll(got, root+"/", "/src/userevents-go/")
			for line := range strings.Lines(got) {
				t.Logf("output %s: %s", d.name, strings.TrimSuffix(line, "\n"))
			}
			block := regexp.MustCompile("(?s)<!-- output " + d.name + ": [^\n]*\n```console\n(.*?)```\n<!-- end of output -->").FindSubmatch(document)
			require.NotNil(t, block, "%s has no place for the output %s", d.file, d.name)
			assert.Equal(t, lasting(string(block[1])), lasting(got), "make outputs writes it into %s", d.file)
		})
	}
}

// outputOf returns what a terminal shows of a command, which is interrupted after a line that contains last.
func outputOf(t *testing.T, args []string, last string) string {
	testscale.NeedLoopback(t)
	program := exec.Command("webserver")
	program.Stderr = os.Stderr
	stdin, err := program.StdinPipe()
	require.NoError(t, err)
	stdout, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	defer func() {
		assert.NoError(t, stdin.Close())
		assert.NoError(t, program.Wait())
	}()
	_, err = bufio.NewReader(stdout).ReadString('\n') // its events are registered
	require.NoError(t, err)
	var terminal syncbuffer.Buffer
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	e := newEnv()
	e.out, e.err = &terminal, struct{ io.Writer }{&terminal}
	e.terminal = func(stream any) (terminalSize, bool) { return terminalSize{120, 24}, stream == e.err } // without the colours of both
	code := make(chan int, 1)
	go func() { code <- run(ctx, e, args) }()
	testscale.Eventually(t, func() bool { return strings.Contains(terminal.String(), "attached ") }, "%s", &terminal)
	_, err = io.WriteString(stdin, "begin\n")
	require.NoError(t, err)
	testscale.Eventually(t, func() bool { return strings.Contains(terminal.String(), last) }, "%s", &terminal)
	interrupt()
	assert.Equal(t, exitOK, <-code)
	return "$ uevents " + strings.Join(args, " ") + "\n" + terminal.String()
}

// lasting returns an output without what differs from run to run, and between versions of Go.
func lasting(output string) string {
	for _, part := range []struct{ pattern, with string }{
		{`(?m)^\d\d:\d\d:\d\d\.\d{3}`, "TIME"},
		{`\[\d+\]`, "[PID]"},
		{`in \d+ ms`, "in MS"},
		{`(?m)\d+\.\d s$`, "SECONDS"},
		{`(?m):\d+$`, ":LINE"},
		{`\S+(/src/net/http/\w+\.go)`, "GOROOT$1"},
		{`\t| {2,}`, " "},
	} {
		output = regexp.MustCompile(part.pattern).ReplaceAllString(output, part.with)
	}
	return output
}
