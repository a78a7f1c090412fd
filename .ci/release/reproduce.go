package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// architectures are those that releases have binaries for.
var architectures = []string{"amd64", "arm64"}

// binaries builds the command for all architectures below a directory that has nothing in common with those of other calls: its own
// module cache and, if cold, its own build cache, so that nothing is taken from an earlier build.
func (e *environment) binaries(dir string, cold bool) (map[string][]byte, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	env := []string{"CGO_ENABLED=0", "GOBIN=", "GOPATH=" + dir, "GOMODCACHE=" + filepath.Join(dir, "modules"), "HOME=" + dir}
	if cold {
		env = append(env, "GOCACHE="+filepath.Join(dir, "cache"))
	} else {
		cache, err := goEnv("GOCACHE")
		if err != nil {
			return nil, err
		}
		env = append(env, "GOCACHE="+cache) // HOME tells where it is
	}
	built := map[string][]byte{}
	for _, arch := range architectures {
		target := filepath.Join(dir, "target-"+arch)
		if err := os.MkdirAll(target, 0o777); err != nil {
			return nil, err
		}
		// go install refuses GOBIN for another architecture, and has folders of its own for them.
		e := e.with(append(env, "GOOS=linux", "GOARCH="+arch, "GOPATH="+target)...)
		if err := e.run(dir, "install", e.command()); err != nil {
			return nil, err
		}
		found, err := filepath.Glob(filepath.Join(target, "bin", "uevents"))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			found = []string{filepath.Join(target, "bin", "linux_"+arch, "uevents")}
		}
		if built["uevents-linux-"+arch], err = os.ReadFile(found[0]); err != nil {
			return nil, err
		}
	}
	return built, nil
}

// sameBinaries returns the problem that two builds differ.
func sameBinaries(a, b map[string][]byte) error {
	for _, name := range sortedKeys(a) {
		if !bytes.Equal(a[name], b[name]) {
			return fmt.Errorf("%s is not reproducible: two builds have the SHA-256 %x and %x", name, sha256.Sum256(a[name]), sha256.Sum256(b[name]))
		}
	}
	return nil
}

// writeBinaries writes the files of a release: binaries, the licences of what they link, and the checksums of all.
func (e *environment) writeBinaries(out string, files map[string][]byte) error {
	set, err := e.thirdParty()
	if err != nil {
		return err
	}
	texts, err := set.Texts("cmd/uevents")
	if err != nil {
		return err
	}
	own, err := os.ReadFile(filepath.Join(e.c.root, "LICENSE"))
	if err != nil {
		return err
	}
	goroot, err := goEnv("GOROOT")
	if err != nil {
		return err
	}
	standard, err := os.ReadFile(filepath.Join(goroot, "LICENSE"))
	if err != nil {
		return err
	}
	files["LICENSES"] = fmt.Appendf(nil, "== userevents-go\n\n%s\n\n== Go's standard library\n\n%s\n\n%s", bytes.TrimSpace(own), bytes.TrimSpace(standard), texts)
	var sums strings.Builder
	for _, name := range sortedKeys(files) {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	files["SHA256SUMS"] = []byte(sums.String())
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	for name, content := range files {
		mode := os.FileMode(0o666)
		if strings.HasPrefix(name, "uevents-") {
			mode = 0o777
		}
		if err := os.WriteFile(filepath.Join(out, name), content, mode); err != nil {
			return err
		}
	}
	return nil
}
