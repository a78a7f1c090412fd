//go:build !linux

package cli

var rootCommands map[string]func()
