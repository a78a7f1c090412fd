package uevents

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/abi"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/uevents/internal/machine"
)

func TestMostTelling(t *testing.T) {
	absent, denied := fmt.Errorf("a: %w", syscall.ENOENT), fmt.Errorf("b: %w", syscall.EACCES)
	status := fmt.Errorf("c: %w", &abi.StatusError{Path: "s", Err: syscall.ENOENT})
	unsupported := fmt.Errorf("d: %w", ErrNotSupported)
	for _, c := range []struct {
		errs []error
		want error
	}{
		{[]error{absent}, absent},
		{[]error{absent, denied}, denied},
		{[]error{absent, unsupported}, absent},
		{[]error{unsupported, absent, status, denied}, status},
		{[]error{denied, status}, denied},
	} {
		assert.Equal(t, c.want, mostTelling(c.errs), "%v", c.errs)
	}
}

// TestRemedyNamesVariable: the advice names the environment variable that Open looks at.
func TestRemedyNamesVariable(t *testing.T) {
	assert.Equal(t, EnvDataFile, machine.EnvDataFile)
}

func TestExplicitPath(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return dir + "/" + name }
	require.NoError(t, os.WriteFile(in("file"), nil, 0o600))
	for _, c := range []struct {
		name, env string
		o         *Options
		want      string
	}{
		{"nothing", "", nil, ""},
		{"empty options", "", &Options{}, ""},
		{"options: a file", "", &Options{Path: in("file")}, in("file")},
		{"options: a directory", "", &Options{Path: dir}, in(tracefs.DataFile)},
		{"options: not there", "", &Options{Path: in("none")}, in("none")},
		{"environment: a file", in("file"), nil, in("file")},
		{"environment: a directory", dir, &Options{}, in(tracefs.DataFile)},
		{"options come first", in("file"), &Options{Path: dir}, in(tracefs.DataFile)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(EnvDataFile, c.env)
			assert.Equal(t, c.want, explicitPath(c.o))
		})
	}
}
