package perfaccess

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRefused: the reason is what a process lacks, and the first remedy ends it.
func TestRefused(t *testing.T) {
	const setcap, sysctl, seccomp, outside = "sudo setcap cap_perfmon+ep ./a", "sysctl -p " + SysctlFile, "seccomp=unconfined", "outside of that user namespace"
	for _, c := range []struct {
		is             Process
		reason, remedy string
		also           []string
	}{
		{Process{Paranoid: 0}, "no CAP_PERFMON, and kernel.perf_event_paranoid is 0", setcap, []string{"sudo chmod 0750 ./a"}},
		{Process{Paranoid: 2}, "no CAP_PERFMON, and kernel.perf_event_paranoid is 2", setcap, []string{"sudo chmod 0750 ./a"}},
		{Process{Paranoid: 3}, "no CAP_PERFMON, and kernel.perf_event_paranoid is 3", setcap, []string{"sudo chmod 0750 ./a", sysctl}},
		{Process{Paranoid: 4}, "no CAP_PERFMON, and kernel.perf_event_paranoid is 4", setcap, []string{"sudo chmod 0750 ./a", sysctl}},
		{Process{Perfmon: true, Paranoid: 3}, "CAP_PERFMON is not enough: kernel.perf_event_paranoid is 3, and above 2 ", sysctl, []string{"sudo setcap cap_sys_admin+ep ./a"}},
		{Process{Perfmon: true, Paranoid: 4}, "CAP_PERFMON is not enough: kernel.perf_event_paranoid is 4, and above 2 ", sysctl, []string{"docker run --cap-add SYS_ADMIN"}},
		{Process{Perfmon: true, Paranoid: 2}, "a seccomp profile, ", seccomp, nil},
		{Process{SysAdmin: true, Paranoid: 2}, "a seccomp profile, ", seccomp, nil},
		{Process{SysAdmin: true, Paranoid: 4}, "a seccomp profile, ", seccomp, nil},
		{Process{SysAdmin: true, Perfmon: true, Paranoid: 4}, "a seccomp profile, ", seccomp, nil},
		{Process{Paranoid: -1}, "a seccomp profile, ", seccomp, nil},
		{Process{Namespaced: true, Paranoid: -1}, "a seccomp profile, ", seccomp, nil},
		{Process{Namespaced: true, Paranoid: 2}, "capabilities of a user namespace", outside, nil},
		{Process{Namespaced: true, Perfmon: true, SysAdmin: true, Paranoid: 4}, "capabilities of a user namespace", outside, nil},
	} {
		r := c.is.Refused("./a")
		assert.Contains(t, r.Reason, c.reason, "%+v", c.is)
		assert.Contains(t, r.Remedies[0], c.remedy, "%+v", c.is)
		all := strings.Join(r.Remedies[1:], "\n")
		for _, text := range c.also {
			assert.Contains(t, all, text, "%+v", c.is)
		}
		if c.is.Paranoid <= Strict {
			assert.NotContains(t, r.Remedies[0]+all, "CAP_SYS_ADMIN", "%+v", c.is)
			assert.NotContains(t, r.Remedies[0]+all, "sysctl", "%+v", c.is)
		}
	}
	assert.Equal(t, fmt.Sprintf("kernel.perf_event_paranoid=%d\n", Strict), SysctlContent)
}

func TestError(t *testing.T) {
	e := &Error{syscall.EACCES, Process{Paranoid: 2}}
	assert.ErrorIs(t, e, syscall.EACCES)
	assert.EqualError(t, e, "permission denied (no CAP_PERFMON, and kernel.perf_event_paranoid is 2: sudo setcap cap_perfmon+ep PROGRAM)")
}
