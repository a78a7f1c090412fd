package collectortest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/userevents/userevents-go/internal/testscale"
)

// foreign are the components of the examples that the Collector of the tests does not have. It takes its sink in place of an exporter.
var foreign = []string{"otlp", "otlp_grpc", "resource_detection", "k8s_attributes"}

// TestConfigurations: the Collector accepts the examples. What it does not have is left out, so only the names of that are checked.
func TestConfigurations(t *testing.T) {
	testscale.HostOnly(t)
	program := built(t, "userevents-collector")
	for _, files := range [][]string{{"config.yaml"}, {"config.yaml", "config-kubernetes.yaml"}, {"config.yaml", "config-failed-requests.yaml"}} {
		t.Run(files[len(files)-1], func(t *testing.T) {
			dir := t.TempDir()
			args := []string{"validate", componentStatus}
			for _, path := range examples(t, dir, files...) {
				args = append(args, "--config", path)
			}
			out, err := exec.Command(program, args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
	// It refuses what is wrong.
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(bad, []byte(`receivers: {user_events: {no_such_key: debug}}
exporters: {debug: }
service: {pipelines: {logs: {receivers: [user_events], exporters: [debug]}}}
`), 0o600))
	out, err := exec.Command(program, "validate", "--config", bad).CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "no_such_key")
}

// examples writes examples into a directory, with components that the Collector has, and sets what they take from the environment. It
// returns their paths.
func examples(t *testing.T, dir string, names ...string) (paths []string) {
	for name, value := range map[string]string{
		"OTLP_ENDPOINT": "gateway:4317", "FAILED_OTLP_ENDPOINT": "gateway:4317", "POD_IP": "127.0.0.1", "STORAGE_DIRECTORY": filepath.Join(dir, "storage"),
	} {
		t.Setenv(name, value)
	}
	for _, name := range names {
		var config map[string]any
		require.NoError(t, yaml.UnmarshalStrict(file(t, distribution, name), &config))
		replaceForeign(t, config, dir)
		text, err := yaml.Marshal(config)
		require.NoError(t, err)
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		paths = append(paths, path)
	}
	return paths
}

// replaceForeign replaces the exporters by sinks with reports in a directory, and removes the other components that the Collector does not have. Every component that
// is used must be configured, and the other way round.
func replaceForeign(t *testing.T, config map[string]any, dir string) {
	for _, kind := range []string{"receivers", "processors", "exporters", "extensions"} {
		components, _ := config[kind].(map[string]any)
		for name, settings := range components {
			kindName, _, _ := strings.Cut(name, "/")
			if !slices.Contains(foreign, kindName) {
				continue
			}
			delete(components, name)
			if kind == "exporters" {
				sink := sinkFor(name)
				components[sink] = map[string]any{
					"report": filepath.Join(dir, strings.ReplaceAll(sink, "/", "-")+".json"), "detailed": true, "sending_queue": settings.(map[string]any)["sending_queue"],
				}
			}
		}
	}
	service := config["service"].(map[string]any)
	if extensions, ok := service["extensions"]; ok {
		service["extensions"] = withoutForeign(extensions)
	}
	for _, p := range service["pipelines"].(map[string]any) {
		pipeline := p.(map[string]any)
		for _, kind := range []string{"receivers", "processors"} {
			pipeline[kind] = withoutForeign(pipeline[kind])
		}
		if exporters, ok := pipeline["exporters"].([]any); ok {
			for i, name := range exporters {
				assert.Contains(t, name, "otlp_grpc")
				exporters[i] = sinkFor(name.(string))
			}
		}
	}
}

// sinkFor returns the name of the sink in place of an exporter.
func sinkFor(exporter string) string { return strings.Replace(exporter, "otlp_grpc", "sink", 1) }

func withoutForeign(list any) []any {
	return slices.DeleteFunc(list.([]any), func(name any) bool { return slices.Contains(foreign, name.(string)) })
}
