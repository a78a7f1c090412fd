package collectortest

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"

	"github.com/userevents/userevents-go/internal/testscale"
)

// TestKubernetesCommand: the DaemonSet of the command has flags that the command knows, the capabilities of the Collector's, and mounts for
// names of pods and for the files that it writes.
func TestKubernetesCommand(t *testing.T) {
	testscale.HostOnly(t)
	root := path.Join(distribution, "..", "..")
	ds := decode[apps.DaemonSet](t, file(t, root, "cmd", "uevents", "daemonset.yaml"))
	assert.Equal(t, []string{"apps/v1", "DaemonSet"}, []string{ds.APIVersion, ds.Kind})
	assert.Equal(t, ds.Spec.Selector.MatchLabels, ds.Spec.Template.Labels)
	pod := ds.Spec.Template.Spec
	assert.True(t, pod.HostPID)
	assert.False(t, pod.HostNetwork || pod.HostIPC || *pod.AutomountServiceAccountToken)
	require.Len(t, pod.Containers, 1)
	c, collector := pod.Containers[0], daemonSet(t).Spec.Template.Spec.Containers[0]
	assert.Equal(t, collector.SecurityContext.Capabilities, c.SecurityContext.Capabilities)
	assert.True(t, *c.SecurityContext.ReadOnlyRootFilesystem)

	require.Equal(t, "record", c.Args[0])
	_, help, _ := strings.Cut(string(file(t, root, "docs", "command.md")), "## uevents record\n")
	help, _, _ = strings.Cut(help, "\n## ")
	mounted := map[string]bool{}
	for i, m := range c.VolumeMounts {
		mounted[m.MountPath] = m.ReadOnly
		assert.Equal(t, m.Name, pod.Volumes[i].Name)
		assert.Equal(t, m.MountPath, pod.Volumes[i].HostPath.Path)
	}
	for _, arg := range c.Args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		assert.Regexp(t, name+`[ \n]`, help)
		if name == "--output" {
			assert.Contains(t, mounted, path.Dir(value))
		}
	}
	assert.Equal(t, map[string]bool{"/sys/kernel/tracing": true, "/var/log/pods": true, "/var/log/containers": true, "/var/log/uevents": false}, mounted)

	image := string(file(t, root, "cmd", "uevents", "Containerfile"))
	assert.Contains(t, image, `ENTRYPOINT ["/uevents"]`)
	assert.Contains(t, image, "-t "+c.Image+" ")
}
