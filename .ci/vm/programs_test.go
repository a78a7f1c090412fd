package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

func TestTestFlags(t *testing.T) {
	patterns, flags := splitArgs([]string{"./a", "b", "-run=^X$", "-v", "-args", "-records=7", "-test.benchtime=1x"})
	assert.Equal(t, []string{"./a", "b"}, patterns)
	assert.Equal(t, []string{"-test.run=^X$", "-test.v", "-records=7", "-test.benchtime=1x"}, testFlags(flags))
	patterns, _ = splitArgs([]string{"./a"})
	assert.Equal(t, []string{"./a"}, patterns)
}

// TestPrograms builds the test binaries of a list.
func TestPrograms(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	t.Chdir(root)
	dir := t.TempDir()
	s := suite{list: filepath.Join(dir, "list"), root: dir, args: []string{"./.ci/vm/testdata/guest", "./.ci/vm/testdata/next", "./.ci/perfetto", "./encode/typed", "-short"}}
	const guest, next = modulePath + ".ci/vm/testdata/guest", modulePath + ".ci/vm/testdata/next"
	require.NoError(t, writeJSON(s.list, list{Guest: tests{guest: {"TestMachine", "TestFail"}, next: {"TestX"}, modulePath + "reader": {"TestY"}}}))
	programs, err := s.programs()
	require.NoError(t, err)
	require.Len(t, programs, 2)
	p := programs[slices.IndexFunc(programs, func(p program) bool { return p.pkg == guest })]
	assert.Equal(t, []string{
		"-test.run=^(TestMachine|TestFail)$", "-test.bench=^(TestMachine|TestFail)$", "-test.benchtime=1x",
		"-test.paniconexit0", "-test.timeout=30m", "-test.short",
	}, p.args)
	assert.Equal(t, "guest.test", filepath.Base(p.file), "a test sees its own name")
	assert.Equal(t, filepath.Join(dir, ".ci", "vm", "testdata", "guest"), s.job(p).Dir)
	out, err := exec.Command(p.file).CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "these tests are for guests of .ci/vm only")
	before, err := os.Stat(p.file)
	require.NoError(t, err)
	_, err = s.programs()
	require.NoError(t, err)
	after, err := os.Stat(p.file)
	require.NoError(t, err)
	assert.True(t, os.SameFile(before, after), "an unchanged binary is not linked again")

	_, err = (&suite{list: filepath.Join(dir, "none")}).programs()
	assert.ErrorContains(t, err, "make unit writes it")
}

// TestCheckoutState: a changed file changes the state, whatever the checkout is called and through which name it is reached.
func TestCheckoutState(t *testing.T) {
	for _, name := range []string{"checkout", ".build", ".git", "node_modules", "a link"} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), name)
			if name == "a link" {
				require.NoError(t, os.Symlink(t.TempDir(), root))
			}
			file := filepath.Join(root, "a", "x.go")
			require.NoError(t, os.MkdirAll(filepath.Join(root, "a"), 0o700))
			require.NoError(t, os.WriteFile(file, nil, 0o600))
			before, err := checkoutState(root)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, []byte("changed"), 0o600))
			after, err := checkoutState(root)
			require.NoError(t, err)
			assert.NotEqual(t, before, after)
		})
	}
}

// TestMachineState: a user with fewer rights has another state, so that no test that passed or was skipped with others counts.
func TestMachineState(t *testing.T) {
	if os.Getenv("STATE") != "" {
		fmt.Println("state", machineState())
		return
	}
	state := func(command ...string) string {
		cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], os.Args[0], "-test.run=^TestMachineState$")...)
		cmd.Env = append(os.Environ(), "STATE=1")
		out, err := cmd.Output()
		require.NoError(t, err, "%s", out)
		return regexp.MustCompile("state .*").FindString(string(out))
	}
	testscale.NeedRoot(t, "to make a user namespace")
	unshare := testscale.NeedProgram(t, "unshare")
	assert.NotEqual(t, state("env"), state(unshare, "-Ur"))
	assert.Equal(t, state("env"), state("env"))
}

// TestBuilt: a kernel counts as built if it has the configuration of the checkout. Nothing is fetched to know it.
func TestBuilt(t *testing.T) {
	built := func(env ...string) string {
		cmd := exec.CommandContext(t.Context(), "../kernel/build.sh", "-built", programs)
		cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "HOME="+filepath.Join(t.TempDir(), "a home"))
		out, err := cmd.CombinedOutput()
		assert.Equal(t, err == nil, !strings.HasPrefix(string(out), "build.sh: "), "%s", out)
		return string(out)
	}
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "a cache"))
	cache := "XDG_CACHE_HOME=" + os.Getenv("XDG_CACHE_HOME")
	missing := regexp.MustCompile("^build.sh: kernel 6.12-uml of this checkout is not built, (.*-[0-9a-f]{16}.linux) is missing: make kernels\n$").FindStringSubmatch(built(cache))
	require.Len(t, missing, 2)
	require.NoError(t, os.MkdirAll(filepath.Dir(missing[1]), 0o755))
	require.NoError(t, os.WriteFile(missing[1], nil, 0o755))
	assert.Contains(t, built(cache), "is not built", "a build that was cut off")
	require.NoError(t, os.WriteFile(missing[1], []byte("an image"), 0o755))
	assert.Equal(t, missing[1]+"\n", built(cache))
	assert.Contains(t, built(cache, "LINUX_SOURCE_6_12=programs_test.go"), "is not built")
	assert.Equal(t, missing[1]+"\n", built(cache, "LINUX_SOURCE_6_1=programs_test.go"), "of another kernel")

	t.Chdir(filepath.Join("..", ".."))
	m := machine{kernel: programs, dir: t.TempDir()}
	assert.Empty(t, m.unusable())
	m.dir = "/a b"
	assert.Contains(t, m.unusable(), "set TMPDIR to a path without spaces")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	assert.Contains(t, m.unusable(), "make deps kernels")
}

func TestChooseAccel(t *testing.T) {
	device := filepath.Join(t.TempDir(), "kvm")
	require.NoError(t, os.WriteFile(device, nil, 0o600))
	trials := 0
	answering := func(a string, err error) func() (string, error) {
		return func() (string, error) {
			trials++
			return a, err
		}
	}

	t.Run("no device, no trial", func(t *testing.T) {
		trials = 0
		a, err := chooseAccel(filepath.Join(t.TempDir(), "absent"), t.TempDir(), answering(accelKVM, nil))
		require.NoError(t, err)
		assert.Equal(t, accelTCG, a)
		assert.Zero(t, trials)
	})
	for _, answer := range []string{accelKVM, accelTCG} {
		t.Run("one trial says "+answer, func(t *testing.T) {
			trials = 0
			cache := filepath.Join(t.TempDir(), "not", "there", "yet")
			for range 3 {
				a, err := chooseAccel(device, cache, answering(answer, nil))
				require.NoError(t, err)
				assert.Equal(t, answer, a)
			}
			assert.Equal(t, 1, trials)
		})
	}
	t.Run("a trial that could not be made is not an answer", func(t *testing.T) {
		trials = 0
		cache := t.TempDir()
		broken := errors.New("no QEMU")
		_, err := chooseAccel(device, cache, answering("", broken))
		require.ErrorIs(t, err, broken)
		a, err := chooseAccel(device, cache, answering(accelKVM, nil))
		require.NoError(t, err)
		assert.Equal(t, accelKVM, a)
		assert.Equal(t, 2, trials)
	})
	t.Run("a spoilt answer is no answer", func(t *testing.T) {
		trials = 0
		cache := t.TempDir()
		_, err := chooseAccel(device, cache, answering(accelKVM, nil))
		require.NoError(t, err)
		files, err := filepath.Glob(filepath.Join(cache, "*"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		require.NoError(t, os.WriteFile(files[0], nil, 0o600))
		a, err := chooseAccel(device, cache, answering(accelTCG, nil))
		require.NoError(t, err)
		assert.Equal(t, accelTCG, a)
		assert.Equal(t, 2, trials)
	})
}
