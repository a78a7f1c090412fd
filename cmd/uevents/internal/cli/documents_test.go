package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

var repository = filepath.Join("..", "..", "..", "..")

// commandPage returns docs/command.md: the help of every command.
func commandPage(t *testing.T) string {
	help := func(args ...string) string {
		var out strings.Builder
		e := newEnv()
		e.out, e.err = &out, &out
		require.Equal(t, exitOK, run(t.Context(), e, args), "%s", &out)
		if n := len(args) - 1; n > 0 && args[n] == "--help" {
			said := out.String()
			out.Reset()
			require.Equal(t, exitOK, run(t.Context(), e, append([]string{"help"}, args[:n]...)), "%s", &out)
			require.Equal(t, said, out.String(), "uevents help %s", args[:n])
		}
		return "```text\n" + strings.TrimSpace(out.String()) + "\n```\n"
	}
	var b strings.Builder
	b.WriteString("<!-- Written by UPDATE=1 go test ./cmd/uevents/internal/cli -run TestCommandPage -->\n\n# The command\n\n" +
		"The help of `uevents` and of each command. [Operating](operating.md) has tasks, [getting started](getting-started.md) the installation.\n\n")
	b.WriteString(help("--help"))
	root := newRootCommand(newEnv())
	for _, group := range root.Groups() {
		for _, cmd := range root.Commands() {
			if cmd.GroupID != group.ID {
				continue
			}
			fmt.Fprintf(&b, "\n## uevents %s\n\n%s.\n\n%s", cmd.Name(), cmd.Short, help(cmd.Name(), "--help"))
			if cmd.Name() == "completion" {
				continue
			}
			for _, sub := range cmd.Commands() {
				fmt.Fprintf(&b, "\n### uevents %s %s\n\n%s.\n\n%s", cmd.Name(), sub.Name(), sub.Short, help(cmd.Name(), sub.Name(), "--help"))
			}
		}
	}
	fmt.Fprintf(&b, "\n## Conditions\n\n%s\n## JSON objects\n\n%s", help("help", "where"), help("help", "json"))
	return b.String()
}

// TestCommandPage: the page of the command has its present help.
func TestCommandPage(t *testing.T) {
	testscale.HostOnly(t)
	testscale.UsesCheckout()
	want, path := commandPage(t), filepath.Join(repository, "docs", "command.md")
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o600))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, want, string(got), "UPDATE=1 writes it")
}

// TestDocumentedCommands: the command lines of uevents in the documents are right: command, flags, number of arguments.
func TestDocumentedCommands(t *testing.T) {
	testscale.HostOnly(t)
	testscale.UsesCheckout()
	count := 0
	require.NoError(t, filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != repository && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == "pages"):
			return fs.SkipDir
		case filepath.Ext(path) != ".md" || d.Name() == "command.md" || d.Name() == "CHANGELOG.md":
			return nil
		}
		text, err := os.ReadFile(path)
		for n, line := range strings.Split(string(text), "\n") {
			for _, args := range commandLines(line) {
				count++
				err := checkCommandLine(args)
				// A sentence may name a command without its arguments, with a flag.
				if err == nil || strings.Contains(err.Error(), "is missing: ") && !strings.HasPrefix(line, "    ") {
					continue
				}
				t.Errorf("%s:%d: uevents %q: %v", path, n+1, args, err)
			}
		}
		return err
	}))
	assert.Greater(t, count, 50)
}

// commandLine matches a command line of uevents in Markdown: indented, after a prompt, or as inline code.
var commandLine = regexp.MustCompile("^(?:    |\\$ )\\s*(?:sudo )?uevents (.*)|`(?:sudo )?uevents ([^`]+)`|[|;&] (?:sudo )?uevents ([^`]*)")

// commandLines returns the arguments of the command lines in a line of Markdown.
func commandLines(line string) (list [][]string) {
	for _, m := range commandLine.FindAllStringSubmatch(line, -1) {
		list = append(list, shellWords(strings.ReplaceAll(m[1]+m[2]+m[3], `\|`, "|")))
	}
	return list
}

// shellWords returns the words of the first command in a line of the shell.
func shellWords(line string) (words []string) {
	var quote rune
	word, inside := "", false
	end := func() {
		if inside {
			words = append(words, word)
		}
		word, inside = "", false
	}
	for i, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word += string(c)
		case c == '\'' || c == '"':
			quote, inside = c, true
		case c == ' ':
			end()
		case strings.ContainsRune("|;&><", c), c == '#' && !inside, c == '\\' && i == len(line)-1:
			end()
			return words
		default:
			word, inside = word+string(c), true
		}
	}
	end()
	return words
}

// checkCommandLine does what the command line does before its command runs.
func checkCommandLine(args []string) error {
	root := newRootCommand(newEnv())
	for _, cmd := range root.Commands() {
		for _, c := range append(cmd.Commands(), cmd) {
			c.Run, c.RunE = nil, func(*cobra.Command, []string) error { return nil }
		}
	}
	root.SetArgs(args)
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	cmd, err := root.ExecuteC()
	if err == nil && cmd == root && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		err = errors.New("unknown command")
	}
	return err
}
