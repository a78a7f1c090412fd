//go:build linux

package attach

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestMissing: what counts is the effective set, and nothing is missing if it is not known.
func TestMissing(t *testing.T) {
	for capabilities, want := range map[string][]string{
		"000001ffffffffff": nil,
		"0000000000080000": {"CAP_DAC_READ_SEARCH"},
		"0000000000000004": {"CAP_SYS_PTRACE"},
		"0":                {"CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"},
	} {
		assert.Equal(t, want, missing(statusOf("Name:\tx\nUid:\t0\t0\t0\t0\nCapPrm:\tff\nCapEff:\t"+capabilities+"\nCapBnd:\tff\n")), capabilities)
	}
	assert.Empty(t, missing(statusOf("")))
	assert.ErrorIs(t, Refused(2), fs.ErrPermission)
}
