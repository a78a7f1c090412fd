//go:build !unix

package cli

import "os"

func lock(*os.File) error { return nil }
