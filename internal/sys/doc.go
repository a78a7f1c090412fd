// Package sys is the only door to golang.org/x/sys/unix. It holds the few system calls that
// the library makes, under names that say what for, so that everything above it stays
// portable and easy to audit.
package sys
