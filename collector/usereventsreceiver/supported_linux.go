package usereventsreceiver

import "github.com/userevents/userevents-go/internal/memory/attach"

// supported returns an error where no receiver can be created.
func supported() error { return nil }

// missingCapabilities returns those that the Collector lacks to read the memory of all programs.
func missingCapabilities() []string { return attach.Missing() }
