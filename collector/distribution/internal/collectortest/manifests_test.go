package collectortest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/userevents/userevents-go/internal/testscale"
)

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
