package doctest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

func needToolchain(t *testing.T) {
	testscale.HostOnly(t)
}

// TestDocuments compiles all Go blocks of the documents, and runs the tests among them.
func TestDocuments(t *testing.T) {
	needToolchain(t)
	c := openCheckout(t, filepath.Join("..", ".."))
	require.Contains(t, c.docs, "README.md")
	require.Contains(t, c.docs, filepath.Join("docs", "operating.md"))
	var all []block
	for _, name := range c.docs {
		text, err := os.ReadFile(filepath.Join(c.root, name))
		require.NoError(t, err)
		list, err := blocks(name, string(text))
		require.NoError(t, err)
		all = append(all, list...)
	}
	require.NotEmpty(t, all)
	t.Logf("%d blocks in %d documents", len(all), len(c.docs))
	for _, problem := range c.compile(t, all) {
		t.Error(problem)
	}
	tests := 0
	for _, b := range all {
		if strings.Contains("\n"+b.text, "\nfunc Test") {
			output, err := c.run(t, b)
			require.NoError(t, err, "%s: %s", b, output)
			assert.Contains(t, output, "--- PASS: Test", "%s", b)
			tests++
		}
	}
	assert.Positive(t, tests)
}
