// Package sys is the only package that imports golang.org/x/sys/unix. It holds the system calls
// of the library, under names that say what they are for, so that the packages above it are
// portable and easy to audit.
//
// OpenNonblocking and Read are called by internal/kerneltest only, which reads ftrace's ring
// buffers with them, and ProcessTime by benchmarks and tests.
package sys
