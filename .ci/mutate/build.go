package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed helper.go.txt
var helper string

// build makes one test program that has all mutants but those that need one of their own.
func (t *target) build(work string) (program string, err error) {
	program = filepath.Join(work, "all.test")
	for range 10 {
		files := map[string][]byte{
			filepath.Join(t.dir, "mutant_functions.go"): []byte(strings.Replace(helper, "PACKAGE", t.files[0].tree.Name.Name, 1)),
		}
		for _, s := range t.files {
			files[s.path] = []byte(t.text(s, s.tree, s.tree.FileStart, s.tree.FileEnd))
		}
		var failed *buildError
		if err = t.compile(work, program, files); !errors.As(err, &failed) {
			return program, err
		}
		if !t.disown(failed.output) {
			return "", err
		}
	}
	return "", err
}

var place = regexp.MustCompile(`(?m)^(?:vet: )?(\S+\.go):(\d+):\d+: `)

// disown gives mutants in the lines of a compiler's errors, and of the expressions there, programs of their own. It returns false if there
// are none.
func (t *target) disown(errs string) bool {
	found := false
	for _, e := range place.FindAllStringSubmatch(errs, -1) {
		first, _ := strconv.Atoi(e[2])
		last := first
		of := func(m *mutant) bool { return filepath.Base(m.file.path) == filepath.Base(e[1]) }
		for _, m := range t.mutants {
			if of(m) && t.fset.Position(m.node.Pos()).Line == first {
				last = max(last, t.fset.Position(m.node.End()).Line)
			}
		}
		for _, m := range t.mutants {
			if of(m) && first <= m.line && m.line <= last && !m.own {
				m.own, found = true, true
			}
		}
	}
	return found
}

// buildOwn makes a test program that has the mutant alone.
func (t *target) buildOwn(work string, m *mutant) (program string, err error) {
	program = filepath.Join(work, fmt.Sprintf("%d.test", m.id))
	pos, op := operatorOf(m.node)
	at := t.offset(pos)
	content := slices.Replace(slices.Clone(m.file.content), at, at+len(op.String()), []byte(m.to.String())...)
	return program, t.compile(work, program, map[string][]byte{m.file.path: content})
}

// A buildError is what the compiler says.
type buildError struct{ output string }

func (e *buildError) Error() string { return "does not compile:\n" + e.output }

// compile builds the package's tests with other contents of files. The files themselves stay as they are.
func (t *target) compile(work, program string, files map[string][]byte) error {
	dir, err := os.MkdirTemp(work, "files-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for path, content := range files {
		copied := filepath.Join(dir, filepath.Base(path))
		overlay.Replace[path] = copied
		if err := os.WriteFile(copied, content, 0o600); err != nil {
			return err
		}
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		return err
	}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-gcflags="+t.path+"=-e", "-overlay", name, "-o", program, ".")
	cmd.Dir = t.dir
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if !slices.ContainsFunc(bytes.Split(out, []byte("\n")), place.Match) {
		return fmt.Errorf("go test -c: %w\n%s", err, out)
	}
	return &buildError{string(out)}
}
