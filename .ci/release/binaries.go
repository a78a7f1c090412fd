package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// architectures are those that releases have binaries for.
var architectures = []string{"amd64", "arm64"}

// writeBinaries builds the command for all architectures, as go install builds it for a user, and writes it with checksums into a
// directory. The go command builds the same bytes from the same sources, wherever they are.
func (e *environment) writeBinaries(out string) error {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	var sums strings.Builder
	for _, arch := range architectures {
		// go install refuses GOBIN for another architecture, and has folders of its own for them.
		target := filepath.Join(e.dir, "target-"+arch)
		if err := os.MkdirAll(target, 0o777); err != nil {
			return err
		}
		if err := e.with("CGO_ENABLED=0", "GOBIN=", "GOPATH="+target, "GOOS=linux", "GOARCH="+arch).run(e.dir, "install", e.command()); err != nil {
			return err
		}
		for _, bin := range []string{"bin", filepath.Join("bin", "linux_"+arch)} {
			binary, err := os.ReadFile(filepath.Join(target, bin, "uevents"))
			if os.IsNotExist(err) {
				continue
			}
			if err != nil {
				return err
			}
			name := "uevents-linux-" + arch
			if err := os.WriteFile(filepath.Join(out, name), binary, 0o777); err != nil {
				return err
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(binary), name)
		}
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o666)
}
