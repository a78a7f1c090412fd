package cli

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMeetingOfStrangers: any process may connect; a tool attaches to those that its COMMAND has started.
func TestMeetingOfStrangers(t *testing.T) {
	command := exec.Command("sh", "-c", "sh -c 'echo $$; read x'; true")
	command.Env = append(os.Environ(), "STARTED_BY=a tool")
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	var grandchild int
	_, err = fmt.Fscan(out, &grandchild)
	require.NoError(t, err)
	assert.True(t, descends(grandchild, command.Process.Pid))
	assert.True(t, descends(grandchild, os.Getpid()))
	assert.False(t, descends(command.Process.Pid, grandchild))
	assert.False(t, descends(os.Getpid(), command.Process.Pid))

	process := fmt.Sprintf("/proc/%d", command.Process.Pid)
	assert.True(t, inherits(process, "STARTED_BY=a tool"))
	assert.False(t, inherits(process, "STARTED_BY=a"))
	for started, want := range map[int]int{os.Getpid(): 1, command.Process.Pid: 0} {
		m, variable, err := newMeeting()
		require.NoError(t, err)
		var found []int
		ended := make(chan struct{})
		go func() {
			m.serve(started, variable, func(pid int) { found = append(found, pid) })
			close(ended)
		}()
		_, name, _ := strings.Cut(variable, "=")
		c, err := net.Dial("unix", "@"+name)
		require.NoError(t, err)
		_, err = c.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.EOF)
		require.NoError(t, c.Close())
		require.NoError(t, m.Close())
		<-ended
		assert.Len(t, found, want)
	}
	require.NoError(t, in.Close())
	require.NoError(t, command.Wait())
}
