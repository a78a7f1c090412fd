package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// buildTests compiles the tests of the packages that match patterns, as seen from
// the directory module, into dir. Packages without tests are left out.
func buildTests(ctx context.Context, module, dir string, patterns []string) ([]testPackage, error) {
	args := append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}\t{{.Dir}}{{end}}"}, patterns...)
	list, err := goCommand(ctx, module, args...)
	if err != nil {
		return nil, err
	}
	var packages []testPackage
	for line := range strings.Lines(list) {
		path, source, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			continue
		}
		binary := filepath.Join(dir, strings.ReplaceAll(path, "/", "_")+".test")
		packages = append(packages, testPackage{ImportPath: path, Dir: source, Binary: binary})
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("no package of %s has tests", strings.Join(patterns, " "))
	}

	// Linking is what takes time, and uses one processor per binary.
	var group sync.WaitGroup
	slots := make(chan struct{}, runtime.NumCPU())
	errs := make([]error, len(packages))
	for i, p := range packages {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			_, errs[i] = goCommand(ctx, module, "test", "-c", "-o", p.Binary, p.ImportPath)
		})
	}
	group.Wait()
	return packages, errors.Join(errs...)
}

func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}
