package soak

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// childTask has what TestChild does in a process of its own.
const childTask = "SOAK_TEST_TASK"

// TestChild is not a test: it is another program, or a tool, of a run.
func TestChild(t *testing.T) {
	if task := os.Getenv(childTask); task != "" {
		childTasks[task](t)
	}
}

// child is a process that does a task.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// startChild starts a child and waits until it is ready.
func startChild(t *testing.T, task string, files []*os.File, env ...string) *child {
	c := spawn(t, task, files, env...)
	require.Equal(t, "ready", c.says())
	return c
}

// spawn starts a child.
func spawn(t *testing.T, task string, files []*os.File, env ...string) *child {
	c := &child{t: t, cmd: exec.Command("/proc/self/exe", "-test.run=^TestChild$")}
	c.cmd.Env = append(append(os.Environ(), childTask+"="+task), env...)
	c.cmd.ExtraFiles = files
	c.cmd.Stderr = os.Stderr
	var err error
	c.in, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.out = bufio.NewScanner(out)
	require.NoError(t, c.cmd.Start())
	return c
}

// says returns what the child says next.
func (c *child) says() string {
	var others []string
	for c.out.Scan() {
		if said, ok := strings.CutPrefix(c.out.Text(), "child: "); ok {
			return said
		}
		others = append(others, c.out.Text())
	}
	require.Fail(c.t, "the child ended", strings.Join(others, "\n"))
	return ""
}

func (c *child) tell(order string) {
	_, err := fmt.Fprintln(c.in, order)
	require.NoError(c.t, err)
}

// asked returns the answer to an order.
func (c *child) asked(order string) string {
	c.tell(order)
	return c.says()
}

// end ends the child by an order.
func (c *child) end(order string) {
	c.tell(order)
	var said []string
	for c.out.Scan() {
		said = append(said, c.out.Text())
	}
	require.NoError(c.t, c.cmd.Wait(), strings.Join(said, "\n"))
}

func (c *child) kill() {
	require.NoError(c.t, c.cmd.Process.Kill())
	assert.Error(c.t, c.cmd.Wait())
}

// childTasks are the tasks, by name. Those of shared memory are added where there is any.
var childTasks = map[string]func(*testing.T){"attach": attachChild, "register": registerChild}
