//go:build linux && !386 && !arm && !mips && !mipsle

package attach

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/backend/memory"
)

// TestMissing: the kernel's list leaves out a lock at times, if others come and go. Its program has not ended, and one that is asked
// for is found.
func TestMissing(t *testing.T) {
	f, err := memory.Open("")
	require.NoError(t, err)
	word, err := f.NewWord()
	require.NoError(t, err)
	_, err = f.Register(backend.Request{Command: "ue_missing u64 a", Word: word})
	require.NoError(t, err)
	ended := 0
	p := NewPrograms(ProgramsOptions{
		Options: Options{Patterns: []string{"ue_missing"}}, WantsProcess: func(pid int32) bool { return int(pid) == os.Getpid() },
		Ended: func([]*Source) { ended++ },
	})
	missing := 3
	p.list = func() ([]Candidate, error) {
		if missing--; missing >= 0 {
			return nil, nil
		}
		return Find()
	}
	require.NoError(t, p.FindProgram(int32(os.Getpid())))
	attached := func() (n int) {
		p.Poll()
		p.Sources(func(*Source) { n++ })
		return n
	}
	require.Equal(t, 1, attached())
	missing = 3
	require.NoError(t, p.Find())
	assert.Equal(t, 1, attached())
	assert.Zero(t, ended)
	require.NoError(t, f.Unregister(word, 0))
	f.FreeWord(word)
	require.NoError(t, f.Close())
	require.NoError(t, p.Find())
	assert.Zero(t, attached())
	assert.Equal(t, 1, ended)
	require.NoError(t, p.Close())
}
