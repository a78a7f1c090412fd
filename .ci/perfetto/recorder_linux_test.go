package perfetto_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
)

var folder = flag.String("perfetto", "", "`folder` that Debian's perfetto and its libraries are unpacked in")

// recorder is Perfetto's: a service, a producer that reads ftrace, and the client that
// writes what they record to a file.
type recorder struct {
	client *exec.Cmd
	output *bytes.Buffer
	file   string
}

// record makes Perfetto record events ("user_events/myapp_span") until stop is called. It returns
// when they are enabled.
func record(t *testing.T, fs *tracefs.Dir, events ...string) *recorder {
	t.Helper()
	require.NotEmpty(t, *folder, "start this by .ci/perfetto/run, which says where Perfetto is")
	dir := t.TempDir()
	env := append(os.Environ(),
		"PERFETTO_PRODUCER_SOCK_NAME="+filepath.Join(dir, "producer"),
		"PERFETTO_CONSUMER_SOCK_NAME="+filepath.Join(dir, "consumer"))
	command := func(path string, args ...string) (*exec.Cmd, *bytes.Buffer) {
		libraries := filepath.Join(*folder, "usr/lib/x86_64-linux-gnu") + ":" + filepath.Join(*folder, "usr/lib/perfetto")
		args = append([]string{"--library-path", libraries, filepath.Join(*folder, path)}, args...)
		// The loader of its own C library: the host's may be older.
		cmd := exec.Command(filepath.Join(*folder, "usr/lib64/ld-linux-x86-64.so.2"), args...)
		output := new(bytes.Buffer)
		cmd.Env, cmd.Stdout, cmd.Stderr = env, output, output
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			if cmd.ProcessState == nil {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}
			if t.Failed() {
				t.Logf("%s:\n%s", path, output)
			}
		})
		return cmd, output
	}
	socket := func(name string) {
		testscale.Eventually(t, func() bool {
			_, err := os.Stat(filepath.Join(dir, name))
			return err == nil
		}, "traced opens no socket %s", name)
	}

	command("usr/sbin/traced")
	socket("producer")
	socket("consumer")
	command("usr/sbin/traced_probes")
	config := filepath.Join(dir, "config")
	require.NoError(t, os.WriteFile(config, []byte(configOf(events)), 0o600))
	r := &recorder{file: filepath.Join(dir, "trace")}
	r.client, r.output = command("usr/bin/perfetto", "--txt", "-c", config, "-o", r.file)
	on := func(path string) {
		testscale.Eventually(t, func() bool {
			content, err := os.ReadFile(path)
			return err == nil && content[0] == '1'
		}, "Perfetto does not switch on %s", path)
	}
	for _, event := range events {
		on(fs.Path("events", event, "enable"))
	}
	on(fs.Path("tracing_on"))
	return r
}

func configOf(events []string) string {
	var b strings.Builder
	b.WriteString("buffers { size_kb: 16384 }\ndata_sources { config { name: \"linux.ftrace\" ftrace_config {\n" +
		"buffer_size_kb: 4096\ncompact_sched { enabled: false }\n") // each sched_switch is an event then
	for _, event := range events {
		fmt.Fprintf(&b, "ftrace_events: %q\n", event)
	}
	b.WriteString("} } }\n")
	return b.String()
}

// stop ends the recording and returns the trace.
func (r *recorder) stop(t *testing.T) *recorded {
	t.Helper()
	require.NoError(t, r.client.Process.Signal(os.Interrupt))
	require.NoError(t, r.client.Wait(), r.output.String())
	trace, err := os.ReadFile(r.file)
	require.NoError(t, err)
	return traceOf(t, trace)
}
