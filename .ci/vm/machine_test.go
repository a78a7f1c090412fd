package main

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMachineArgs(t *testing.T) {
	base := machine{image: "bzImage", init: "/x/vm", dir: "/x"}
	tests := []struct {
		name   string
		change func(*machine)
		want   []string
		absent []string
	}{
		{
			name:   "translated",
			change: func(m *machine) { m.accel = accelTCG },
			want:   []string{"-accel tcg -cpu max -smp 2", "readonly=on", "path=/x/console.log"},
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
			cmd, err := m.command()
			require.NoError(t, err)
			args := strings.Join(cmd.Args, " ")
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
	m := machine{kernel: "6.12-uml", image: "/x/linux", init: "/x/vm", dir: t.TempDir(), cmdline: "a=b quiet"}
	cmd, err := m.command()
	require.NoError(t, err)
	args := strings.Join(cmd.Args, " ")
	assert.True(t, strings.HasSuffix(args, " init=/x/vm a=b quiet -- init "+m.settings()), args)
	assert.Contains(t, args, "con0=null,fd:3 ssl=null ssl0=fd:0,fd:1")
}

// The memory of such a kernel is a file that can be written and executed.
func TestMemoryDir(t *testing.T) {
	files := t.TempDir()
	for _, inMemory := range []string{"/nonexistent", "/proc"} { // which has no free space
		dir, err := memoryDir(inMemory, files)
		require.NoError(t, err)
		assert.Equal(t, files, dir, inMemory)
	}
	_, err := memoryDir("/proc", "/nonexistent")
	assert.ErrorContains(t, err, "neither /proc (which has to have 4 GiB free) nor /nonexistent takes")
}

func TestKernelArgs(t *testing.T) {
	m := machine{init: "/x/vm", dir: "/x", cmdline: "lsm=lockdown quiet"}
	assert.True(t, strings.HasSuffix(m.kernelArgs(), " init=/x/vm lsm=lockdown quiet -- init /x/settings.json"),
		"what is for the kernel stands before --: %s", m.kernelArgs())
	m.accel = accelCount
	assert.True(t, strings.HasSuffix(m.kernelArgs(), " rdinit=/vm lsm=lockdown quiet -- init /job.json"), m.kernelArgs())
	assert.NotContains(t, m.kernelArgs(), "/x/")
}

// Paths that a command line cannot carry are refused.
func TestMachinePaths(t *testing.T) {
	for _, path := range []string{"/my files", "/a\tb", `/a"b`, "/a,b"} {
		for _, m := range []machine{{init: path, dir: "/x"}, {init: "/x", dir: path}, {kernel: "6.12-uml", dir: path}} {
			_, err := m.command()
			assert.ErrorContains(t, err, "TMPDIR")
		}
	}
}

// Guests that count show that an archive can be used.
func TestInitrd(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(program, []byte("the program"), 0o600))
	m := machine{init: program, dir: dir}
	s := settings{Counting: true, Job: job{Args: []string{program, "-v"}, Dir: filepath.Join(dir, "p")}}
	archive := func() string {
		require.NoError(t, writeInitrd(m, s))
		data, err := os.ReadFile(m.initrd())
		require.NoError(t, err)
		return string(data)
	}
	first := archive()
	assert.Equal(t, first, archive(), "the same each time")
	assert.Equal(t, program, s.Job.Args[0], "the caller's job stays as it was")
	assert.Contains(t, first, `"/tests/000","-v"`)

	m.files = []string{"/proc/self/comm"}
	assert.Contains(t, archive(), "proc/self/comm\x00")

	s.Job.Args = []string{filepath.Join(dir, "missing")}
	assert.ErrorIs(t, writeInitrd(m, s), fs.ErrNotExist)
}

func TestAuxValue(t *testing.T) {
	var auxv []byte
	for _, word := range []uint64{3, 30, atRandom, 0x7ffe_0000_1234, 0, 0} {
		auxv = binary.NativeEndian.AppendUint64(auxv, word)
	}
	v, err := auxValue(auxv, atRandom)
	require.NoError(t, err)
	assert.EqualValues(t, 0x7ffe_0000_1234, v)
	_, err = auxValue(auxv, 26)
	assert.ErrorContains(t, err, "no entry 26")
	_, err = auxValue(auxv[:31], atRandom)
	assert.Error(t, err, "cut")
	_, err = auxValue(nil, atRandom)
	assert.Error(t, err)
}

func TestDispatchRefuses(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	for name, args := range map[string][]string{
		"nothing":              {},
		"an unknown command":   {"tset"},
		"init outside a guest": {"init", "job.json"},
		"an unknown flag":      {"test", "-kernle", "6.1"},
		"an unknown kernel":    {"shell", "-kernel", "5.0"},
		"an unknown machine":   {"bench", "-accel", "xen"},
		"a shell's program":    {"shell", "true"},
	} {
		t.Run(name, func(t *testing.T) { assert.Error(t, dispatch(args)) })
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("PATH", "/my/tools:/usr/bin")
	env := testEnv(machine{kernel: "6.1"})
	assert.Contains(t, env, "USEREVENTS_KERNEL=6.1")
	for _, v := range env {
		if dirs, ok := filepath.SplitList(v), v[:5] == "PATH="; ok {
			assert.Contains(t, dirs, "/usr/bin")
			assert.Contains(t, dirs, "/usr/sbin", "where trace-cmd's friends are")
		}
	}
	assert.NotContains(t, env, "HOME="+os.Getenv("HOME"))

	assert.Contains(t, testEnv(machine{kernel: "6.12-arm64"}), "PATH=/nonexistent", "another processor has none of the host's programs")

	// A shell has these, and the rest of the host's.
	shell := guestEnv(machine{kernel: "6.1"})
	assert.Subset(t, env, shell)
	assert.True(t, strings.HasPrefix(shell[len(shell)-1], "PATH="))
	assert.NotContains(t, shell, "TERM=dumb")
}
