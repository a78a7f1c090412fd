package cgroup

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	id1  = "4c01db0b339c4c01db0b339c4c01db0b339c4c01db0b339c4c01db0b339cabcd"
	id2  = "00000000339c4c01db0b339c4c01db0b339c4c01db0b339c4c01db0b339cf00f"
	uid  = "8dbc5577-d0e2-4706-8787-57d52c03ddf2"
	uid_ = "8dbc5577_d0e2_4706_8787_57d52c03ddf2" // as slices have it
	hash = "33d556edd3ae8ef21980288cef77ae8b"     // of a static pod
)

// TestParse: paths as runtimes and systemd make them. The sources are those of the names of the groups.
func TestParse(t *testing.T) {
	for _, c := range []struct{ path, unit, container, pod string }{
		{"/", "", "", ""},
		// systemd: the tests of its cg_path_get_unit and cg_path_get_user_unit (src/test/test-cgroup-util.c), and systemd.special(7).
		{"/init.scope", "init.scope", "", ""},
		{"/system.slice/foobar.service/sdfdsaf", "foobar.service", "", ""},
		{"/system.slice/getty@tty5.service/aaa/bbb", "getty@tty5.service", "", ""},
		{"/system.slice/system-waldo.slice/_cpu.service/sdfdsaf", "cpu.service", "", ""},
		{"/system.slice/getty####@tty6.service/xxx", "system.slice", "", ""},
		{"/system.slice/getty@.service", "system.slice", "", ""},
		{"/system.slice/@a.service", "system.slice", "", ""},
		{"/system.slice/.service", "system.slice", "", ""},
		{"/system.slice/" + strings.Repeat("a", 248) + ".service", "system.slice", "", ""},
		{"/system.slice/" + strings.Repeat("a", 247) + ".service", strings.Repeat("a", 247) + ".service", "", ""},
		{`/system.slice/dev-disk-by\x2duuid.swap`, `dev-disk-by\x2duuid.swap`, "", ""},
		{"/system.slice/run-user-1000.mount", "run-user-1000.mount", "", ""},
		{"/system.slice/sshd.socket", "sshd.socket", "", ""},
		{"/system.slice/apt-daily.timer", "system.slice", "", ""}, // starts a service, and has no group
		{"/sadfdsafsda", "", "", ""},
		{"/user.slice", "user.slice", "", ""},
		{"/foo.slice/foo-bar.slice", "foo-bar.slice", "", ""},
		{"/user.slice/user-1000.slice/session-2.scope", "session-2.scope", "", ""},
		{"/user.slice/user-1002.slice/session-2.scope/foobar.service/waldo", "foobar.service", "", ""},
		{"/user.slice/user-1000.slice/user@1000.service", "user@1000.service", "", ""},
		{"/user.slice/user-1000.slice/user@1000.service/init.scope", "init.scope", "", ""},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/foo.service", "foo.service", "", ""},
		{"/user.slice/a:b/c", "user.slice", "", ""},
		// docker: daemon/oci_linux.go, with the cgroup drivers cgroupfs and systemd; with systemd in the container; in another container.
		{"/docker/" + id1, "", id1, ""},
		{"/system.slice/docker-" + id1 + ".scope", "docker-" + id1 + ".scope", id1, ""},
		{"/system.slice/docker-" + id1 + ".scope/init.scope", "init.scope", id1, ""},
		{"/system.slice/docker-" + id1 + ".scope/system.slice/nginx.service", "nginx.service", id1, ""},
		{"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" + id1 + ".scope", "docker-" + id1 + ".scope", id1, ""},
		{"/docker/" + id1 + "/docker/" + id2, "", id2, ""},
		{"/docker/" + strings.ToUpper(id1), "", "", ""},
		{"/docker/" + id1[1:], "", "", ""},
		{"/docker/" + id1[1:] + "g", "", "", ""},
		// Kubernetes: pkg/kubelet/cm/pod_container_manager_linux.go and cgroup_manager_linux.go; containerd: the CRI plugin's
		// getCgroupsPath; CRI-O: internal/config/cgmgr; k3s is containerd.
		{"/kubepods/burstable/pod" + uid + "/" + id1, "", id1, uid},
		{"/kubepods/pod" + uid + "/" + id1 + "/user", "", id1, uid},
		{"/kubepods/besteffort/pod" + uid, "", "", uid},
		{"/kubepods/burstable/pod" + hash + "/" + id1, "", id1, hash},
		{"/kubepods/burstable/pod" + uid + "/crio-" + id1, "", id1, uid},
		{
			"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + uid_ + ".slice/cri-containerd-" + id1 + ".scope",
			"cri-containerd-" + id1 + ".scope", id1, uid,
		},
		{"/kubepods.slice/kubepods-pod" + uid_ + ".slice/crio-" + id1 + ".scope/container", "crio-" + id1 + ".scope", id1, uid},
		{"/kubepods.slice/kubepods-pod" + hash + ".slice/crio-conmon-" + id1 + ".scope", "crio-conmon-" + id1 + ".scope", "", hash},
		{"/kubepods.slice/kubepods-pod" + uid_ + ".slice", "kubepods-pod" + uid_ + ".slice", "", uid},
		{
			"/system.slice/containerd.service/kubepods-besteffort-pod" + uid_ + ".slice:cri-containerd:" + id1, "containerd.service", id1, uid,
		},
		{"/kubepods/burstable/pod" + uid + "/" + id1 + "/docker/" + id2, "", id2, uid}, // docker in a pod
		{"/k8s.io/" + id1, "", id1, ""}, // ctr
		// kind and minikube: nodes that are containers, seen from inside and from the host (kind's images/base).
		{
			"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" + uid_ + ".slice/cri-containerd-" + id1 + ".scope",
			"cri-containerd-" + id1 + ".scope", id1, uid,
		},
		{"/docker/" + id2 + "/kubelet/kubepods/besteffort/pod" + uid + "/" + id1, "", id1, uid},
		{"/system.slice/docker-" + id2 + ".scope/system.slice/kubelet.service", "kubelet.service", id2, ""},
		// Of a reader with a cgroup namespace of its own (cgroup_namespaces(7)).
		{"/../../pod" + uid + "/" + id1, "", id1, uid},
		{"/../cri-containerd-" + id1 + ".scope", "cri-containerd-" + id1 + ".scope", id1, ""},
		// podman: libpod/container_internal_linux.go and oci_conmon_linux.go; with --cgroups=split in the unit of the service.
		{"/machine.slice/libpod-" + id1 + ".scope/container", "libpod-" + id1 + ".scope", id1, ""},
		{"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id1 + ".scope/container", "libpod-" + id1 + ".scope", id1, ""},
		{"/machine.slice/machine-libpod_pod_" + id2 + ".slice/libpod-" + id1 + ".scope", "libpod-" + id1 + ".scope", id1, ""},
		{"/machine.slice/libpod-conmon-" + id1 + ".scope", "libpod-conmon-" + id1 + ".scope", "", ""},
		{"/libpod_parent/libpod-" + id1, "", id1, ""},
		{"/system.slice/web.service/libpod-payload-" + id1, "web.service", id1, ""},
		// No uid.
		{"/kubepods/burstable/pod1b/" + id1, "", id1, ""},
		{"/kubepods/burstable/tripod" + uid, "", "", ""},
		{"/kubepods/burstable/pod" + strings.Replace(uid, "-", "0", 1), "", "", ""},
		{"/kubepods/burstable/pod" + uid + "0", "", "", ""},
		{"/kubepods/burstable/pod" + strings.Repeat("g", 32), "", "", ""},
	} {
		assert.Equal(t, Names{c.path, c.unit, c.container, c.pod}, Parse("0::"+c.path+"\n"))
	}
}

// TestParseHierarchies: with version 1 and both versions, the path is one that says something, and each name comes from the hierarchy
// that has it: docker does not use version 2 on a machine that has both, and systemd does.
func TestParseHierarchies(t *testing.T) {
	for _, c := range []struct {
		text string
		want Names
	}{
		{"", Names{}},
		{"nonsense\n", Names{}},
		{"12:pids:/docker/" + id1 + "\n1:name=systemd:/docker/" + id1 + "\n", Names{Path: "/docker/" + id1, ContainerID: id1}},
		{"4:memory:/\n1:name=systemd:/system.slice/ssh.service\n0::/\n", Names{Path: "/system.slice/ssh.service", Unit: "ssh.service"}},
		{"4:memory:/docker/" + id1 + "\n1:name=systemd:/docker/" + id1 + "\n0::/\n", Names{Path: "/docker/" + id1, ContainerID: id1}},
		{
			"4:memory:/docker/" + id1 + "\n1:name=systemd:/docker/" + id1 + "\n0::/system.slice/containerd.service\n",
			Names{Path: "/system.slice/containerd.service", Unit: "containerd.service", ContainerID: id1},
		},
		{"4:pids:/user.slice\n1:name=systemd:/user.slice/user@1.service/a.service\n", Names{Path: "/user.slice", Unit: "a.service"}},
		{"2:cpu:/a.service\n1:pids:/b.service\n", Names{Path: "/a.service", Unit: "a.service"}},
		{"5:cpu:/kubepods/pod" + uid + "\n4:pids:/kubepods/pod" + hash + "/" + id1 + "\n", Names{Path: "/kubepods/pod" + uid, ContainerID: id1, PodUID: uid}},
		{"1:name=systemd:/a\n0::/b\n", Names{Path: "/b"}},
		// Only the root of a hierarchy gives way to systemd's.
		{"3:cpu:/a\n1:name=systemd:/b\n", Names{Path: "/a"}},
		{"3:cpu:/\n1:name=systemd:/b\n", Names{Path: "/b"}},
		{"3:cpu:/\n2:memory:/b\n", Names{Path: "/"}},
		{"3:cpu:/a\n0::/\n", Names{Path: "/a"}},
		{"3:cpu:/a\n0::/b\n", Names{Path: "/b"}},
	} {
		assert.Equal(t, c.want, Parse(c.text), "%q", c.text)
	}
}

// FuzzParse: names are parts of the text, and have their form.
func FuzzParse(f *testing.F) {
	f.Add("12:pids:/docker/" + id1 + "\n1:name=systemd:/docker/" + id1 + "\n0::/\n")
	f.Add("0::/kubepods.slice/kubepods-pod" + uid_ + ".slice/crio-conmon-" + id1 + ".scope\n")
	f.Add("0::/system.slice/containerd.service/kubepods-pod" + hash + ".slice:cri-containerd:" + id1 + "/a:b\n")
	f.Add("0::/system.slice/_cpu.service\n")
	f.Fuzz(func(t *testing.T, text string) {
		n := Parse(text)
		require.Contains(t, text, n.Path)
		require.Contains(t, text, n.Unit)
		require.True(t, n.Unit == "" || IsUnit(n.Unit), n.Unit)
		require.Contains(t, text, n.ContainerID)
		require.True(t, n.ContainerID == "" || IsContainerID(n.ContainerID), n.ContainerID)
		require.Contains(t, strings.ReplaceAll(text, "_", "-"), n.PodUID)
		require.True(t, n.PodUID == "" || IsPodUID(n.PodUID), n.PodUID)
		require.NotContains(t, n.Path+n.Unit+n.ContainerID+n.PodUID, "\n")
	})
}
