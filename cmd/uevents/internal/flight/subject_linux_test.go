package flight

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/sloghandler"
)

// envSubject turns the test binary into a program that logs under that name, controlled by its input.
const envSubject = "FLIGHT_SUBJECT"

func TestMain(m *testing.M) {
	if name := os.Getenv(envSubject); name != "" {
		if err := runSubject(name); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type request struct {
	Duration time.Duration `uevent:"duration_ns"`
}

func runSubject(name string) error {
	h, err := sloghandler.New(name, &sloghandler.Options{
		Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[request]("request", nil)},
	})
	if err != nil {
		return err
	}
	logger := slog.New(h)
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		command, argument, _ := strings.Cut(in.Text(), " ")
		n, err := strconv.Atoi(argument)
		if err != nil {
			return err
		}
		switch command {
		case "log":
			for i := range n {
				handleRequest(logger, i)
			}
		case "retry":
			for i := range n {
				retry(logger, i)
			}
		case "request":
			logger.Info("request", "duration", time.Duration(n)*time.Millisecond)
		}
		fmt.Println("done")
	}
	return h.Close()
}

//go:noinline
func handleRequest(logger *slog.Logger, i int) {
	logger.Info("handled", "n", i)
}

//go:noinline
func retry(logger *slog.Logger, i int) {
	logger.Info("retry", "n", i)
}

// subject is a process of this test binary with envSubject.
type subject struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
	pid int32
}

func startSubject(t *testing.T, name string) *subject {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), envSubject+"="+name)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NoError(t, in.Close())
		assert.NoError(t, cmd.Wait())
	})
	s := &subject{t, in, bufio.NewScanner(out), int32(cmd.Process.Pid)}
	s.expect("ready")
	return s
}

func (s *subject) expect(line string) {
	s.t.Helper()
	require.True(s.t, s.out.Scan(), "the subject ended")
	require.Equal(s.t, line, s.out.Text())
}

// do makes the subject log, and waits until it has.
func (s *subject) do(command string, n int) {
	s.t.Helper()
	s.send(command, n)
	s.expect("done")
}

func (s *subject) send(command string, n int) {
	s.t.Helper()
	_, err := fmt.Fprintln(s.in, command, n)
	require.NoError(s.t, err)
}
