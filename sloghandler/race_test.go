//go:build race

package sloghandler_test

const raceEnabled = true
