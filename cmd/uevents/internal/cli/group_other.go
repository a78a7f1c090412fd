//go:build !unix

package cli

import "io/fs"

// groupOf reports that files have no groups.
func groupOf(fs.FileInfo) (gid string, ok bool) { return "", false }
