package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMachineArgs(t *testing.T) {
	base := machine{image: "bzImage", init: "/x/vm", jobFile: "/x/job.json", initrd: "/x/initrd", console: "/x/a,b.log"}
	tests := []struct {
		name   string
		change func(*machine)
		want   []string
		absent []string
	}{
		{
			name:   "translated",
			change: func(m *machine) { m.accel = accelTCG },
			want:   []string{"-accel tcg -cpu max -smp 2", "readonly=on", "path=/x/a,,b.log"},
			absent: []string{"icount", "virtconsole", "initrd", "-seed"},
		},
		{
			name:   "counting",
			change: func(m *machine) { m.accel = accelCount },
			want:   []string{"-accel tcg,thread=single -icount shift=0,sleep=off -cpu max -smp 1", "-initrd /x/initrd", "-seed 1", "clock=vm"},
			absent: []string{"-smp 2", "virtfs"},
		},
		{
			name:   "counting with the host's files",
			change: func(m *machine) { m.accel = accelShared },
			want:   []string{"-accel tcg,thread=single -icount shift=0,sleep=on -cpu max -smp 1", "virtfs"},
			absent: []string{"-smp 2", "initrd"},
		},
		{
			name:   "kvm",
			change: func(m *machine) { m.accel = accelKVM },
			want:   []string{"-accel kvm -cpu host -smp 2"},
			absent: []string{"tcg"},
		},
		{
			name:   "arm64",
			change: func(m *machine) { m.accel, m.kernel = accelTCG, "6.12-arm64" },
			want:   []string{"-M virt", "console=ttyAMA0", "virtfs"},
			absent: []string{"initrd", "icount", "norandmaps"},
		},
		{
			name:   "terminal",
			change: func(m *machine) { m.accel, m.terminal = accelTCG, true },
			want:   []string{"stdio,id=terminal,signal=off,mux=on", "virtconsole,chardev=terminal"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := base
			test.change(&m)
			args := strings.Join(m.args(), " ")
			for _, want := range test.want {
				assert.Contains(t, args, want)
			}
			for _, absent := range test.absent {
				assert.NotContains(t, args, absent)
			}
		})
	}
}

// A kernel that is a program gets its port and its console as open files.
func TestProgramArgs(t *testing.T) {
	m := machine{kernel: "7.3-uml", image: "/x/linux", init: "/x/vm", jobFile: "/x/job.json", console: filepath.Join(t.TempDir(), "console"), cmdline: "a=b quiet"}
	cmd, err := m.command()
	require.NoError(t, err)
	require.Len(t, cmd.ExtraFiles, 1)
	assert.Equal(t, m.console, cmd.ExtraFiles[0].Name())
	args := strings.Join(cmd.Args, " ")
	assert.True(t, strings.HasSuffix(args, " init=/x/vm a=b quiet -- init /x/job.json"), args)
	assert.Contains(t, args, "con0=null,fd:3 ssl=null ssl0=fd:4,fd:5")
	require.NoError(t, cmd.ExtraFiles[0].Close())

	m.accel = accelTCG
	assert.ErrorContains(t, m.prepare(), "kernel 7.3-uml does not run under tcg")
	m.kernel, m.accel = "7.3", accelUML
	assert.ErrorContains(t, m.prepare(), "kernel 7.3 does not run under uml")
}

func TestKernelArgs(t *testing.T) {
	m := machine{init: "/x/vm", jobFile: "/x/job.json", cmdline: "lsm=lockdown quiet"}
	assert.True(t, strings.HasSuffix(m.kernelArgs(), " init=/x/vm lsm=lockdown quiet -- init /x/job.json"),
		"what is for the kernel stands before --: %s", m.kernelArgs())
	m.accel = accelCount
	assert.True(t, strings.HasSuffix(m.kernelArgs(), " rdinit=/vm lsm=lockdown quiet -- init /job.json"), m.kernelArgs())
	assert.NotContains(t, m.kernelArgs(), "/x/")
}

func TestMachineCheck(t *testing.T) {
	assert.NoError(t, machine{init: "/x/vm", jobFile: "/tmp/a/job.json"}.check())
	for _, path := range []string{"/my files/vm", "/a\tb", `/a"b`} {
		assert.ErrorContains(t, machine{init: path, jobFile: "/x"}.check(), "TMPDIR")
		assert.ErrorContains(t, machine{init: "/x", jobFile: path}.check(), "TMPDIR")
	}
}
