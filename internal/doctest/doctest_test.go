package doctest

import (
	"fmt"
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

// TestCompile: every kind of block compiles, and every kind of mistake is an error that names its line.
func TestCompile(t *testing.T) {
	needToolchain(t)
	c := openCheckout(t, filepath.Join("..", ".."))
	var good, bad []block
	for n, text := range []string{
		"package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println() }\n",
		"type handler struct{ *slog.Logger }\n\nfunc (h handler) serve() { h.Info(\"served\") }\n",
		"h, err := sloghandler.New(\"myapp\", nil)\nif err != nil {\n\tlog.Print(err)\n}\ndefer h.Close()\n",
		"otel.SetTracerProvider(sdktrace.NewTracerProvider())\n",
		"import _ \"github.com/userevents/userevents-go/exporter/autoexport\"\n",
		"shutdown, err := autoexport.Setup(context.Background())\nlog.Print(shutdown, err)\n",
		"package a\n\nimport (\n\tslogmulti \"github.com/samber/slog-multi\"\n\t\"github.com/userevents/userevents-go/sloghandler\"\n)\n" +
			"func b(h *sloghandler.Handler) { slogmulti.Fanout(h) }\n",
	} {
		good = append(good, block{fmt.Sprintf("good%d.md", n), 1, text})
	}
	assert.Empty(t, c.compile(t, good))

	var wants []string
	for n, mistake := range []struct{ text, want string }{
		{"package a\n\nfunc b() {\n\tc := 1\n}\n", ":14: declared and not used: c"},
		{"if true {\n\ta := 1\n}\n", ":12: declared and not used: a"},
		{"log.Print()\nlog.Print(err)\n", ":12: undefined: err"},
		{"log.Print(nosuch.New())\n", ":11: undefined: nosuch"},
		{"log.Print(rand.Int())\n", ":11: undefined: rand"}, // two packages of the standard library
		{"sloghandler.NoSuch()\n", ":11: undefined: sloghandler.NoSuch"},
		{"package a\n\nimport \"log\"\n", ":13: \"log\" imported and not used"},
		{"a(\n", ":13: expected operand"},
		{"package a\n\nfunc b() {\n", ":13: expected '}'"},
		{"import _ \"github.com/userevents/userevents-go/internal/sys\"\n", ":11: no module of this repository provides"},
		{"import _ \"example.com/a\"\n", ":11: no module of this repository provides"},
		{"import (\n\t_ \"github.com/samber/slog-multi\"\n\t_ \"example.com/a\"\n)\n", ":11: no module of this repository provides"},
	} {
		name := fmt.Sprintf("bad%d.md", n)
		bad = append(bad, block{name, 11, mistake.text})
		wants = append(wants, name+mistake.want)
	}
	problems := strings.Join(c.compile(t, bad), "\n")
	for _, want := range wants {
		assert.Contains(t, problems, want)
	}
}
