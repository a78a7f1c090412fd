package collectortest

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/userevents/userevents-go/internal/testscale"
)

// decode decodes one document strictly: a key that its type does not have is an error.
func decode[T any](t *testing.T, text []byte) (v T) {
	require.NoError(t, yaml.UnmarshalStrict(text, &v), "%s", text)
	return v
}

func daemonSet(t *testing.T) apps.DaemonSet {
	return decode[apps.DaemonSet](t, file(t, distribution, "daemonset.yaml"))
}

// checkPod checks the parts of a pod that refer to each other, and returns its container and the mounts by their paths.
func checkPod(t *testing.T, pod core.PodSpec) (core.Container, map[string]core.VolumeMount) {
	require.Len(t, pod.Containers, 1)
	c := pod.Containers[0]
	var volumes, ports, variables []string
	for _, v := range pod.Volumes {
		volumes = append(volumes, v.Name)
	}
	mounted := map[string]core.VolumeMount{}
	for _, m := range c.VolumeMounts {
		assert.Contains(t, volumes, m.Name)
		mounted[m.MountPath] = m
	}
	assert.Len(t, mounted, len(volumes))
	for _, p := range c.Ports {
		ports = append(ports, p.Name)
	}
	for _, probe := range []*core.Probe{c.LivenessProbe, c.ReadinessProbe} {
		require.NotNil(t, probe)
		assert.Contains(t, ports, probe.HTTPGet.Port.String())
	}
	for _, v := range c.Env {
		for _, reference := range regexp.MustCompile(`\$\((\w+)\)`).FindAllStringSubmatch(v.Value, -1) {
			assert.Contains(t, variables, reference[1], "%s: only variables above it are replaced", v.Name)
		}
		variables = append(variables, v.Name)
	}
	return c, mounted
}

// TestKubernetes: the manifests are of the types that they name, and refer to parts that exist.
func TestKubernetes(t *testing.T) {
	testscale.HostOnly(t)
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
	c, mounted := checkPod(t, pod)
	for _, v := range pod.Volumes {
		if v.ConfigMap != nil {
			assert.Equal(t, k.ConfigMapGenerator[0].Name, v.ConfigMap.Name)
		}
	}
	for _, readOnly := range []string{"/sys/kernel/tracing", "/sys/fs/cgroup", "/etc/userevents-collector"} {
		assert.True(t, mounted[readOnly].ReadOnly, readOnly)
	}
	assert.Contains(t, c.Args, componentStatus, "health_check/ready needs it")
	for _, arg := range slices.DeleteFunc(c.Args, func(arg string) bool { return arg == componentStatus }) {
		config, ok := bytes.CutPrefix([]byte(arg), []byte("--config="))
		require.True(t, ok, arg)
		assert.Equal(t, "config", mounted[path.Dir(string(config))].Name)
		assert.Contains(t, k.ConfigMapGenerator[0].Files, path.Base(string(config)))
	}
	assert.Contains(t, string(file(t, distribution, "config-kubernetes.yaml")), fmt.Sprintf("endpoint: ${env:POD_IP}:%d", hostPort(t)))
	assert.True(t, slices.ContainsFunc(c.Env, func(e core.EnvVar) bool {
		return e.Name == "POD_IP" && e.ValueFrom.FieldRef.FieldPath == "status.podIP"
	}))
	assert.True(t, pod.HostPID)
	assert.False(t, pod.HostNetwork)
	assert.False(t, pod.HostIPC)
	checkNodeName(t, c.Env)

	documents := bytes.Split(file(t, distribution, "rbac.yaml"), []byte("\n---\n"))
	require.Len(t, documents, 3)
	account := decode[core.ServiceAccount](t, documents[0])
	role := decode[rbac.ClusterRole](t, documents[1])
	binding := decode[rbac.ClusterRoleBinding](t, documents[2])
	assert.Equal(t, pod.ServiceAccountName, account.Name)
	assert.Equal(t, rbac.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: role.Kind, Name: role.Name}, binding.RoleRef)
	assert.Equal(t, []rbac.Subject{{Kind: account.Kind, Name: account.Name}}, binding.Subjects, "kustomization.yaml adds the namespace")
}

// checkNodeName checks that all data has the name of the node, and none that of the Collector's pod.
func checkNodeName(t *testing.T, env []core.EnvVar) {
	assert.True(t, slices.ContainsFunc(env, func(e core.EnvVar) bool {
		return e.Name == "K8S_NODE_NAME" && e.ValueFrom.FieldRef.FieldPath == "spec.nodeName"
	}))
	assert.Contains(t, env, core.EnvVar{Name: "OTEL_RESOURCE_ATTRIBUTES", Value: "host.name=$(K8S_NODE_NAME),k8s.node.name=$(K8S_NODE_NAME)"})
	type config struct {
		Receivers struct {
			UserEvents struct {
				NodeName string `json:"node_name"`
			} `json:"user_events"`
		}
		Processors struct {
			Detection struct{ Detectors []string } `json:"resource_detection"`
		}
	}
	var c config
	require.NoError(t, yaml.Unmarshal(file(t, distribution, "config-kubernetes.yaml"), &c))
	assert.Equal(t, "${env:K8S_NODE_NAME}", c.Receivers.UserEvents.NodeName)
	assert.Equal(t, []string{"env"}, c.Processors.Detection.Detectors)
}

// hostPort returns the node's port at which the Collector receives OTLP.
func hostPort(t *testing.T) int32 {
	for _, p := range daemonSet(t).Spec.Template.Spec.Containers[0].Ports {
		if p.Name == "otlp-http" {
			assert.Equal(t, p.ContainerPort, p.HostPort)
			return p.HostPort
		}
	}
	require.Fail(t, "the Collector has no port for OTLP")
	return 0
}

// TestKubernetesService: the manifest of examples/service has no rights, the mount that docs/operating.md recommends, and flags and
// paths that the service knows.
func TestKubernetesService(t *testing.T) {
	testscale.HostOnly(t)
	root := path.Join(distribution, "..", "..")
	documents := bytes.Split(file(t, root, "examples", "service", "deployment.yaml"), []byte("\n---\n"))
	require.Len(t, documents, 2)
	d := decode[apps.Deployment](t, documents[0])
	assert.Equal(t, []string{"apps/v1", "Deployment"}, []string{d.APIVersion, d.Kind})
	assert.Equal(t, d.Spec.Selector.MatchLabels, d.Spec.Template.Labels)
	pod := d.Spec.Template.Spec
	c, mounted := checkPod(t, pod)
	service := decode[core.Service](t, documents[1])
	assert.Equal(t, []string{"v1", "Service"}, []string{service.APIVersion, service.Kind})
	assert.Equal(t, d.Spec.Selector.MatchLabels, service.Spec.Selector)
	require.Len(t, service.Spec.Ports, 1)
	assert.Equal(t, c.Ports[0].Name, service.Spec.Ports[0].TargetPort.String())

	// Kubernetes' level restricted, but for the volume of the host.
	assert.True(t, *pod.SecurityContext.RunAsNonRoot)
	assert.Positive(t, *pod.SecurityContext.RunAsUser)
	assert.Equal(t, core.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	assert.False(t, pod.HostPID || pod.HostNetwork || pod.HostIPC || *pod.AutomountServiceAccountToken)
	assert.False(t, *c.SecurityContext.AllowPrivilegeEscalation)
	assert.True(t, *c.SecurityContext.ReadOnlyRootFilesystem)
	assert.Equal(t, &core.Capabilities{Drop: []core.Capability{"ALL"}}, c.SecurityContext.Capabilities)

	// The port of the Collector on its node.
	assert.True(t, slices.ContainsFunc(c.Env, func(e core.EnvVar) bool {
		return e.Name == "OTEL_EXPORTER_OTLP_ENDPOINT" && e.Value == fmt.Sprintf("http://$(NODE_IP):%d", hostPort(t))
	}))

	// The pod of docs/operating.md.
	text := string(file(t, root, "docs", "operating.md"))
	_, text, ok := strings.Cut(text, "### Kubernetes\n")
	require.True(t, ok)
	_, text, ok = strings.Cut(text, "```yaml\n")
	require.True(t, ok)
	text, _, _ = strings.Cut(text, "```")
	recommended := decode[core.Pod](t, []byte(text)).Spec
	assert.Equal(t, recommended.Volumes, pod.Volumes)
	assert.Equal(t, recommended.Containers[0].VolumeMounts, c.VolumeMounts)
	assert.Equal(t, recommended.SecurityContext.SupplementalGroups, pod.SecurityContext.SupplementalGroups)
	for _, v := range recommended.Containers[0].Env {
		assert.Contains(t, c.Env, v)
	}
	assert.Len(t, mounted, 1)

	// Its program and its image.
	program := string(file(t, root, "examples", "service", "main.go"))
	for _, arg := range c.Args {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		assert.Regexp(t, `flag\.\w+Var\(&o\.`+name+`, "`+name+`"`, program)
	}
	routes := string(file(t, root, "examples", "service", "server.go"))
	for _, probe := range []*core.Probe{c.LivenessProbe, c.ReadinessProbe} {
		assert.Contains(t, routes, `"GET `+probe.HTTPGet.Path+`"`)
	}
	image := string(file(t, root, "examples", "service", "Containerfile"))
	assert.Contains(t, image, `CMD ["`+strings.Join(c.Args, `", "`)+`"]`)
	assert.Contains(t, image, fmt.Sprintf("USER %d:%d", *pod.SecurityContext.RunAsUser, *pod.SecurityContext.RunAsGroup))
}

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

// manifest is a configuration of the Collector builder.
type manifest struct {
	Dist struct {
		Module      string `json:"module"`
		Name        string `json:"name"`
		Description string `json:"description"`
		Version     string `json:"version"`
		OutputPath  string `json:"output_path"`
		Resource    struct {
			Detection struct {
				Detectors []map[string]struct{} `json:"detectors"`
			} `json:"detection"`
		} `json:"resource"`
	} `json:"dist"`
	Receivers  []component `json:"receivers"`
	Processors []component `json:"processors"`
	Exporters  []component `json:"exporters"`
	Extensions []component `json:"extensions"`
	Providers  []component `json:"providers"`
}

type component struct {
	GoMod  string `json:"gomod"`
	Import string `json:"import,omitempty"`
}

func (m manifest) modules() (list []string) {
	for _, components := range [][]component{m.Receivers, m.Processors, m.Exporters, m.Extensions, m.Providers} {
		for _, c := range components {
			list = append(list, c.GoMod)
		}
	}
	return list
}

func file(t *testing.T, elem ...string) []byte {
	text, err := os.ReadFile(filepath.Join(elem...))
	require.NoError(t, err)
	return text
}

func readManifest(t *testing.T, name string) (m manifest) {
	require.NoError(t, yaml.UnmarshalStrict(file(t, distribution, name), &m), name)
	return m
}

// TestManifests: a user can build the published Collector, and the one of the tests has its components at the same versions, as
// far as it has them.
func TestManifests(t *testing.T) {
	testscale.HostOnly(t)
	published, plain := readManifest(t, "manifest.yaml"), readManifest(t, "manifest-plain.yaml")
	assert.Equal(t, published.Dist.Name, plain.Dist.Name)
	versions := map[string]string{}
	for _, m := range published.modules() {
		name, version, ok := strings.Cut(m, " ")
		require.True(t, ok, m)
		require.NotContains(t, versions, name)
		require.NotContains(t, name, "/internal/", "a user's builder cannot import it")
		versions[name] = version
	}
	shared := 0
	for _, m := range plain.modules() {
		name, version, _ := strings.Cut(m, " ")
		if want, ok := versions[name]; ok {
			assert.Equal(t, want, version, name)
			shared++
		}
	}
	assert.Greater(t, shared, 5)

	// One release of the Collector everywhere: in the manifests, for the builder, in the modules.
	builders := regexp.MustCompile(`/cmd/builder@(v[\d.]+)`)
	release := versions["go.opentelemetry.io/collector/processor/memorylimiterprocessor"]
	for _, name := range []string{"collector/distribution/manifest.yaml", "collector/distribution/Containerfile", ".ci/collector", "docs/collector.md"} {
		found := builders.FindAllSubmatch(file(t, distribution, "..", "..", filepath.FromSlash(name)), -1)
		require.NotEmpty(t, found, name)
		for _, f := range found {
			assert.Equal(t, release, string(f[1]), name)
		}
	}
	for _, module := range []string{"collector/usereventsreceiver", "collector/distribution/internal/collectortest"} {
		text := file(t, distribution, "..", "..", filepath.FromSlash(module), "go.mod")
		for _, m := range regexp.MustCompile(`(?m)^\s(go\.opentelemetry\.io/collector/\S+) (v0\.\S+)`).FindAllSubmatch(text, -1) {
			assert.Equal(t, release, string(m[2]), "%s requires %s", module, m[1])
		}
	}
}
