package uevents_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/uevents"
)

// Security modules are chosen at boot: make vm-lsm runs these tests.

// TestLockedDown: such a kernel has a tracefs with nothing in it.
func TestLockedDown(t *testing.T) {
	kerneltest.Guest(t)
	line, err := os.ReadFile("/sys/kernel/security/lockdown")
	if err != nil || !strings.Contains(string(line), "[confidentiality]") {
		t.Skip("not on this kernel: it is not locked down")
	}
	p, err := uevents.Open(nil)
	require.NotNil(t, p)
	assert.ErrorIs(t, err, uevents.ErrNotSupported)
	assert.ErrorContains(t, err, "the kernel is locked down (confidentiality)")
	assert.ErrorContains(t, err, "(boot with lockdown=integrity or without lockdown)")
	ev, err := p.Register(declare(t, "locked_down u8 a"), nil)
	assert.ErrorIs(t, err, uevents.ErrNotSupported)
	assert.False(t, ev.Enabled())
	assert.NoError(t, p.Close())

	r := uevents.Probe(nil)
	assert.ErrorIs(t, r.Err, uevents.ErrNotSupported)
	assert.Contains(t, r.String(), "lockdown:      confidentiality")
	assert.Contains(t, r.String(), "-> no tracing tool can attach: boot with lockdown=integrity")
}

// appArmorProfile is the name in testdata/apparmor/profile.
const appArmorProfile = "userevents-test"

// TestAppArmorProfile: profiles of container runtimes deny writing below /sys, also to what is
// mounted there on purpose.
func TestAppArmorProfile(t *testing.T) {
	tfs := kerneltest.Require(t)
	if on, err := os.ReadFile("/sys/module/apparmor/parameters/enabled"); err != nil || strings.TrimSpace(string(on)) != "Y" {
		t.Skip("not on this kernel: AppArmor is off")
	}
	compiled, err := os.ReadFile("testdata/apparmor/compiled")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("/sys/kernel/security/apparmor/.replace", compiled, 0))
	t.Cleanup(func() {
		assert.NoError(t, os.WriteFile("/sys/kernel/security/apparmor/.remove", []byte(appArmorProfile), 0))
	})

	data := tfs.Path(tracefs.DataFile)
	startChild(t, childOptions{setup: "AppArmor"}).mustFail("permission=true unsupported=false",
		data+": permission denied: the AppArmor profile \""+appArmorProfile+"\" denies it", "mount the file elsewhere", "set "+uevents.EnvDataFile)
	startChild(t, childOptions{setup: "AppArmor, projected"}).mustWork(tfs)
}
