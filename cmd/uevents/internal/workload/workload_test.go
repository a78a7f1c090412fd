package workload

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/cgroup"
)

const (
	uid1 = "8dbc5577-d0e2-4706-8787-57d52c03ddf2"
	uid2 = "81e09ae0-12ec-4ec5-94b8-51cda7906370"
	hash = "33d556edd3ae8ef21980288cef77ae8b"
)

// id returns the id of a container, that begins with the digits.
func id(digits string) string { return digits + strings.Repeat("0", 64-len(digits)) }

// machine is a directory with the files of a machine.
type machine struct {
	*testing.T

	root string
}

// newMachine returns a machine without files. Its user has a home below its root.
func newMachine(t *testing.T) machine {
	t.Helper()
	root := t.TempDir()
	t.Setenv("HOME", "/home/me")
	t.Setenv("XDG_DATA_HOME", "")
	require.NoError(t, os.Mkdir(filepath.Join(root, "proc"), 0o755))
	return machine{t, root}
}

func (m machine) file(path, content string) {
	m.Helper()
	path = filepath.Join(m.root, path)
	require.NoError(m, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(m, os.WriteFile(path, []byte(content), 0o600))
}

func (m machine) link(path, target string) {
	m.Helper()
	path = filepath.Join(m.root, path)
	require.NoError(m, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(m, os.Symlink(target, path))
}

func (m machine) process(pid int, exe, group string) {
	m.Helper()
	m.file(fmt.Sprintf("proc/%d/cgroup", pid), "0::"+group+"\n")
	m.file(fmt.Sprintf("proc/%d/comm", pid), "comm\n")
	m.link(fmt.Sprintf("proc/%d/exe", pid), exe)
}

// pod adds what the kubelet makes for a container: a log and a link to it.
func (m machine) pod(namespace, name, uid, container, id string) {
	m.Helper()
	log := "/var/log/pods/" + namespace + "_" + name + "_" + uid + "/" + container + "/0.log"
	m.file(log, "")
	m.link("/var/log/containers/"+name+"_"+namespace+"_"+container+"-"+id+".log", log)
}

// docker adds what docker keeps of a container.
func (m machine) docker(data, id, name string) {
	m.Helper()
	m.file(data+"/containers/"+id+"/config.v2.json", `{"StreamConfig":{},"State":{"Running":true},"ID":"`+id+`","Name":"/`+name+`","Driver":"overlay2"}`)
}

// TestKubelet: pods and containers of any runtime, from the names of logs.
func TestKubelet(t *testing.T) {
	m := newMachine(t)
	m.pod("default", "web-0", uid1, "app", id("a1"))
	m.pod("kube-system", "etcd-node", hash, "etcd", id("b2"))
	m.file("var/log/pods/default_batch_"+uid2+"/job/0.log", "") // its link is cut: it has no id
	m.link("var/log/containers/"+strings.Repeat("x", 100)+"_default_app-00.log", "/nowhere")
	m.link("var/log/containers/other_default_app-"+id("c3")+".log", "/var/log/pods/default_web-0_"+uid1+"/app/0.log") // of another pod
	m.file("var/log/containers/README", "")
	m.file("var/log/pods/a_b/x", "")
	m.file("var/log/pods/a_b_"+uid1+"0/x", "")
	m.file("var/log/pods/_b_"+uid1+"/x", "")
	s := Read(m.root)
	assert.ElementsMatch(t, []Pod{{"default", "web-0", uid1}, {"kube-system", "etcd-node", hash}, {"default", "batch", uid2}}, s.Pods)
	assert.ElementsMatch(t, []Container{
		{ID: id("a1"), Name: "app", Namespace: "default", Pod: "web-0", PodUID: uid1},
		{ID: id("b2"), Name: "etcd", Namespace: "kube-system", Pod: "etcd-node", PodUID: hash},
		{ID: id("c3"), Name: "app", Namespace: "default", Pod: "other"},
	}, s.Containers)
	assert.Empty(t, s.errs)
}

// TestDocker: containers of the machine's docker and of the user's, and those that cri-dockerd makes for Kubernetes.
func TestDocker(t *testing.T) {
	m := newMachine(t)
	m.docker("/var/lib/docker", id("a1"), "shop-web-1")
	m.docker("/var/lib/docker", id("b2"), "k8s_app_web-0_default_"+uid1+"_0")
	m.docker("/var/lib/docker", id("c3"), "k8s_POD_web-0_default_"+uid1+"_0")
	m.docker("/home/me/.local/share/docker", id("d4"), "mine")
	m.docker("/var/lib/docker", id("f6"), "k8s_a_b_c_d_e")                                            // no uid, and so a name
	require.NoError(t, os.Mkdir(filepath.Join(m.root, "var/lib/docker/containers", id("e5")), 0o700)) // docker is making it
	m.file("var/lib/docker/containers/README", "")
	s := Read(m.root)
	assert.ElementsMatch(t, []Container{
		{ID: id("a1"), Name: "shop-web-1", Runtime: "docker"},
		{ID: id("b2"), Name: "app", Namespace: "default", Pod: "web-0", PodUID: uid1},
		{ID: id("c3"), Namespace: "default", Pod: "web-0", PodUID: uid1},
		{ID: id("d4"), Name: "mine", Runtime: "docker"},
		{ID: id("f6"), Name: "k8s_a_b_c_d_e", Runtime: "docker"},
	}, s.Containers)
	assert.Equal(t, []Pod{{"default", "web-0", uid1}}, s.Pods)
	assert.Empty(t, s.errs)
}

// TestStorage: the lists of podman and CRI-O.
func TestStorage(t *testing.T) {
	m := newMachine(t)
	const list = `[{"id":"%s","names":["%s"],"image":"4bcf","layer":"99aa","metadata":"{\"image-name\":\"x\"}","created":"2026-01-01T00:00:00Z"},` +
		`{"id":"%s","names":["k8s_etcd_etcd-node_kube-system_` + hash + `_3"]},{"id":"%s","names":["k8s_etcd-node_kube-system_` + hash + `_0"]},{"id":"short","names":["x"]},{"id":"%[1]s"}]`
	m.file("var/lib/containers/storage/overlay-containers/containers.json", fmt.Sprintf(list, id("a1"), "web", id("b2"), id("c3")))
	m.file("var/lib/containers/storage/overlay-containers/volatile-containers.json", `[{"id":"`+id("d4")+`","names":["once"]}]`)
	m.file("home/me/.local/share/containers/storage/overlay-containers/containers.json", `[{"id":"`+id("e5")+`","names":["mine"]}]`)
	m.file("run/containers/storage/overlay-containers/volatile-containers.json", `[{"id":"`+id("f6")+`","names":["transient"]}]`)
	s := Read(m.root)
	assert.ElementsMatch(t, []Container{
		{ID: id("a1"), Name: "web", Runtime: "podman"},
		{ID: id("b2"), Name: "etcd", Namespace: "kube-system", Pod: "etcd-node", PodUID: hash},
		{ID: id("c3"), Namespace: "kube-system", Pod: "etcd-node", PodUID: hash},
		{ID: id("d4"), Name: "once", Runtime: "podman"},
		{ID: id("e5"), Name: "mine", Runtime: "podman"},
		{ID: id("f6"), Name: "transient", Runtime: "podman"},
	}, s.Containers)
	t.Setenv("XDG_DATA_HOME", "/data")
	assert.Len(t, Read(m.root).Containers, 5, "the user's are elsewhere")
	t.Setenv("HOME", "")
	t.Setenv("XDG_DATA_HOME", "relative")
	assert.Len(t, Read(m.root).Containers, 5)
}

// TestProcesses: units, containers and pods that only cgroups tell of; threads of the kernel have no program.
func TestProcesses(t *testing.T) {
	m := newMachine(t)
	m.process(1, "/usr/lib/systemd/systemd", "/init.scope")
	m.process(100, "/usr/sbin/nginx (deleted)", "/system.slice/nginx.service")
	m.process(101, "/usr/sbin/nginx", "/system.slice/nginx.service")
	m.process(200, "/app", "/kubepods.slice/kubepods-pod"+strings.ReplaceAll(uid1, "-", "_")+".slice/cri-containerd-"+id("a1")+".scope")
	m.file("proc/101/comm", "nginx: worker\n")
	m.file("proc/2/comm", "kthreadd\n")
	m.file("proc/uptime", "")
	m.file("proc/0/comm", "")
	m.file("proc/300/comm", "hidden\n")
	require.NoError(t, os.WriteFile(filepath.Join(m.root, "proc/300/exe"), nil, 0o600)) // as without permission: it is no link that can be read
	m.file("var/log/pods/default_web-0_"+uid1+"/app/0.log", "")
	s := Read(m.root)
	assert.ElementsMatch(t, []Process{
		{1, "systemd", "comm", cgroup.Names{Path: "/init.scope", Unit: "init.scope"}},
		{100, "nginx", "comm", cgroup.Names{Path: "/system.slice/nginx.service", Unit: "nginx.service"}},
		{101, "nginx", "nginx: worker", cgroup.Names{Path: "/system.slice/nginx.service", Unit: "nginx.service"}},
		{200, "app", "comm", s.Processes[len(s.Processes)-2].Names},
		{300, "hidden", "hidden", cgroup.Names{}},
	}, s.Processes)
	assert.Equal(t, []Container{{ID: id("a1"), Namespace: "default", Pod: "web-0", PodUID: uid1}}, s.Containers)
	assert.Equal(t, []string{"init.scope", "nginx.service"}, s.Units())
}

// TestSources: what several sources know of a container is one container.
func TestSources(t *testing.T) {
	m := newMachine(t)
	m.pod("default", "web-0", uid1, "app", id("a1"))
	m.docker("/var/lib/docker", id("a1"), "k8s_app_web-0_default_"+uid1+"_0")
	m.docker("/var/lib/docker", id("b2"), "db")
	m.process(1, "/app", "/docker/"+id("a1"))
	m.process(2, "/app", "/docker/"+id("b2"))
	assert.ElementsMatch(t, []Container{
		{ID: id("a1"), Name: "app", Namespace: "default", Pod: "web-0", PodUID: uid1}, {ID: id("b2"), Name: "db", Runtime: "docker"},
	}, Read(m.root).Containers)
}

// TestHostileFiles: files that are no files of a runtime take neither time nor memory, are not followed, and are no secret.
func TestHostileFiles(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(`{"Name":"/stolen"}`), 0o600))
	for want, make := range map[string]func(m machine, path string){
		"escapes":         func(m machine, path string) { m.link(path, secret) },
		"no regular file": func(m machine, path string) { m.file(path+"/x", "") },
		"more than 167772": func(m machine, path string) {
			m.file(path, "")
			require.NoError(m, os.Truncate(m.root+path, maxFile+1))
		},
		"invalid char":     func(m machine, path string) { m.file(path, "\x1b") },
		"cannot unmarshal": func(m machine, path string) { m.file(path, `[[]]`) },
	} {
		for _, path := range []string{"/var/lib/docker/containers/" + id("a1") + "/config.v2.json", "/var/lib/containers/storage/overlay-containers/containers.json"} {
			m := newMachine(t)
			make(m, path)
			s := Read(m.root)
			assert.Empty(t, s.Containers, "%s: %s", want, path)
			_, err := s.ResolveContainer("stolen")
			assert.ErrorContains(t, err, want, path)
			assert.ErrorContains(t, err, path)
		}
	}
}

// TestResolveContainer: by name, pattern, and the beginning of an id.
func TestResolveContainer(t *testing.T) {
	m := newMachine(t)
	m.pod("default", "web-0", uid1, "app", id("a1"))
	m.pod("default", "web-0", uid1, "app", id("a2")) // after a restart
	m.pod("shop", "web-0", uid2, "app", id("b1"))
	m.pod("shop", "web-0", uid2, "side", id("b2"))
	m.docker("/var/lib/docker", id("c1"), "web")
	m.docker("/var/lib/docker", id("c2"), "c1") // a name before an id
	m.docker("/home/me/.local/share/docker", id("d1"), "web2")
	m.docker("/var/lib/docker", id("d2"), "web2")
	m.process(1, "/a", "/docker/"+id("e1"))
	s := Read(m.root)
	for name, want := range map[string][]string{
		"web": {id("c1")}, "side": {id("b2")}, "c1": {id("c2")}, "c10": {id("c1")}, id("f"): {id("f")}, "e": {id("e1")},
		"web*": {id("c1"), id("d1"), id("d2")}, "*": {id("a1"), id("a2"), id("b1"), id("b2"), id("c1"), id("c2"), id("d1"), id("d2")}, "ap[p]": {id("a1"), id("a2"), id("b1")},
	} {
		ids, err := s.ResolveContainer(name)
		require.NoError(t, err, name)
		assert.ElementsMatch(t, want, ids, name)
	}
	for name, want := range map[string]string{
		"app":  `several match container "app": default/web-0/app (a10000000000), default/web-0/app (a20000000000), shop/web-0/app (b10000000000)`,
		"web2": `several match container "web2": web2 (docker d10000000000), web2 (docker d20000000000)`,
		"d":    `several match container "d": web2 (docker d10000000000), web2 (docker d20000000000)`,
		"":     `no container "": looked at `, "f": `no container "f": looked at `, "nosuch*": `no container "nosuch*": looked at /var/log/pods, /var/log/containers, `,
		"[": `container "[": syntax error in pattern`,
	} {
		_, err := s.ResolveContainer(name)
		assert.ErrorContains(t, err, want, name)
	}
	ids, err := s.OfPods([]string{uid1}).ResolveContainer("app")
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{id("a1"), id("a2")}, ids)
	_, err = s.OfPods([]string{uid1}).ResolveContainer("web")
	assert.ErrorContains(t, err, `no container "web"`)
	_, err = s.ResolveContainer("web")
	require.NoError(t, err, "the snapshot is unchanged")
}

// TestResolvePod: by name with and without namespace, pattern, and uid.
func TestResolvePod(t *testing.T) {
	m := newMachine(t)
	m.pod("default", "web-0", uid1, "app", id("a1"))
	m.pod("default", "web-0", hash, "app", id("a2")) // made again
	m.pod("shop", "db-0", uid2, "app", id("b1"))
	const uid3 = "00000000-0000-0000-0000-000000000000"
	m.pod("test", "db-0", uid3, "app", id("c1"))
	s := Read(m.root)
	for name, want := range map[string][]string{
		"web-0": {uid1, hash}, "default/web-0": {uid1, hash}, "shop/db-0": {uid2}, "*/db-0": {uid2, uid3}, "db-*": {uid2, uid3}, "shop/*": {uid2}, uid1: {uid1},
		"ffffffffffffffffffffffffffffffff": {"ffffffffffffffffffffffffffffffff"},
	} {
		uids, err := s.ResolvePod(name)
		require.NoError(t, err, name)
		assert.ElementsMatch(t, want, uids, name)
	}
	for name, want := range map[string]string{
		"db-0": `several match pod "db-0": shop/db-0, test/db-0`, "web": `no pod "web": looked at `, "shop/web-0": `no pod "shop/web-0": `, "": `no pod "": `,
		"[/x": `syntax error`, "x/[": `syntax error`, "a/b/c": `no pod "a/b/c"`,
	} {
		_, err := s.ResolvePod(name)
		assert.ErrorContains(t, err, want, name)
	}
}

// TestErrors: errors list what there is, and keep why some may be missing.
func TestErrors(t *testing.T) {
	m := newMachine(t)
	for i := range 12 {
		m.pod("default", fmt.Sprintf("web-%02d", i), fmt.Sprintf("%032x", i), "app", id(fmt.Sprintf("a%02d", i)))
	}
	s := Read(m.root)
	_, err := s.ResolveContainer("app")
	assert.ErrorContains(t, err, "default/web-09/app (a09000000000), 2 more")
	var missing *NotFoundError
	_, err = s.ResolvePod("wbe-01")
	require.ErrorAs(t, err, &missing)
	assert.Contains(t, missing.Known, "web-01")
	assert.Contains(t, missing.Known, "default/web-01")

	s.failed(&fs.PathError{Op: "open", Path: "/var/lib/docker", Err: fs.ErrPermission})
	_, err = s.ResolveContainer("wbe")
	assert.ErrorIs(t, err, fs.ErrPermission)
	assert.ErrorContains(t, err, "and the cgroups of processes\nopen /var/lib/docker: permission denied")
}

// FuzzNames: names of logs and of containers are parsed whatever they are.
func FuzzNames(f *testing.F) {
	f.Add("web-0_default_app-" + id("a1") + ".log")
	f.Add("default_web-0_" + uid1)
	f.Add("k8s_app_web-0_default_" + uid1 + "_0")
	f.Fuzz(func(t *testing.T, name string) {
		if c, ok := parseLogLink(name); ok {
			require.Equal(t, name, c.Pod+"_"+c.Namespace+"_"+c.Name+"-"+c.ID+".log")
		}
		if p, ok := parsePodDir(name); ok {
			require.Equal(t, name, p.Namespace+"_"+p.Name+"_"+p.UID)
		}
		s := newSnapshot("/")
		s.addNamed(id("a1"), name, "docker")
		require.Len(t, s.Containers, 1)
		require.NotEmpty(t, s.Containers[0].String())
		require.True(t, s.Containers[0].PodUID == "" || cgroup.IsPodUID(s.Containers[0].PodUID))
	})
}

// TestManyEntries: what a name is not looked for in is said.
func TestManyEntries(t *testing.T) {
	m := newMachine(t)
	dir := filepath.Join(m.root, "var/log/containers")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	fill := func(from, to int) error {
		for n := from; n < to; n++ {
			if err := os.Symlink("x", filepath.Join(dir, fmt.Sprintf("p%d_default_c-%064x.log", n, n))); err != nil {
				return err
			}
		}
		return nil
	}
	require.NoError(t, fill(0, maxEntries))
	s := Read(m.root)
	assert.Len(t, s.Containers, maxEntries)
	_, err := s.ResolveContainer("nosuch")
	assert.NotContains(t, err.Error(), "only")
	require.NoError(t, fill(maxEntries, maxEntries+1))
	s = Read(m.root)
	assert.Len(t, s.Containers, maxEntries)
	_, err = s.ResolveContainer("nosuch")
	assert.ErrorContains(t, err, "only the first 10000 entries of "+dir)
}
