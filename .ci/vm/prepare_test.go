package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
