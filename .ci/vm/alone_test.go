package main

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
