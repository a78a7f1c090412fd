// Package examples has a tool in Python for events in shared memory, attach.py, and its test. The programs are in the folders below.
package examples
