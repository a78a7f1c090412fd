package collectortest

import (
	"bytes"
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// decode decodes one document strictly: a key that its type does not have is an error.
func decode[T any](t *testing.T, text []byte) (v T) {
	require.NoError(t, yaml.UnmarshalStrict(text, &v), "%s", text)
	return v
}

func daemonSet(t *testing.T) apps.DaemonSet {
	return decode[apps.DaemonSet](t, file(t, distribution, "daemonset.yaml"))
}

// TestKubernetes: the manifests are of the types that they name, and refer to parts that exist.
func TestKubernetes(t *testing.T) {
	onHost(t)
	type kustomization struct {
		APIVersion, Kind, Namespace string
		Resources                   []string
		ConfigMapGenerator          []struct {
			Name  string
			Files []string
		}
	}
	k := decode[kustomization](t, file(t, distribution, "kustomization.yaml"))
	assert.Equal(t, []string{"namespace.yaml", "rbac.yaml", "daemonset.yaml"}, k.Resources)
	namespace := decode[core.Namespace](t, file(t, distribution, "namespace.yaml"))
	assert.Equal(t, k.Namespace, namespace.Name)
	require.Len(t, k.ConfigMapGenerator, 1)

	ds := daemonSet(t)
	assert.Equal(t, []string{"apps/v1", "DaemonSet"}, []string{ds.APIVersion, ds.Kind})
	assert.Equal(t, ds.Spec.Selector.MatchLabels, ds.Spec.Template.Labels)
	pod := ds.Spec.Template.Spec
	require.Len(t, pod.Containers, 1)
	c := pod.Containers[0]
	var volumes []string
	for _, v := range pod.Volumes {
		volumes = append(volumes, v.Name)
		if v.ConfigMap != nil {
			assert.Equal(t, k.ConfigMapGenerator[0].Name, v.ConfigMap.Name)
		}
	}
	mounted := map[string]core.VolumeMount{}
	for _, m := range c.VolumeMounts {
		assert.Contains(t, volumes, m.Name)
		mounted[m.MountPath] = m
	}
	assert.Len(t, mounted, len(volumes))
	for _, readOnly := range []string{"/sys/kernel/tracing", "/sys/fs/cgroup", "/etc/userevents-collector"} {
		assert.True(t, mounted[readOnly].ReadOnly, readOnly)
	}
	for _, arg := range c.Args {
		config, ok := bytes.CutPrefix([]byte(arg), []byte("--config="))
		require.True(t, ok, arg)
		assert.Equal(t, "config", mounted[path.Dir(string(config))].Name)
		assert.Contains(t, k.ConfigMapGenerator[0].Files, path.Base(string(config)))
	}
	assert.True(t, pod.HostPID)
	assert.False(t, pod.HostNetwork)
	assert.False(t, pod.HostIPC)
	assert.True(t, slices.ContainsFunc(c.Env, func(e core.EnvVar) bool { return e.Name == "K8S_NODE_NAME" && e.ValueFrom != nil }))

	documents := bytes.Split(file(t, distribution, "rbac.yaml"), []byte("\n---\n"))
	require.Len(t, documents, 3)
	account := decode[core.ServiceAccount](t, documents[0])
	role := decode[rbac.ClusterRole](t, documents[1])
	binding := decode[rbac.ClusterRoleBinding](t, documents[2])
	assert.Equal(t, pod.ServiceAccountName, account.Name)
	assert.Equal(t, rbac.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: role.Kind, Name: role.Name}, binding.RoleRef)
	assert.Equal(t, []rbac.Subject{{Kind: account.Kind, Name: account.Name}}, binding.Subjects, "kustomization.yaml adds the namespace")
}
