// Package words hands out the enable words of the process, in which the kernel sets a bit
// while a tracing tool is attached to an event.
package words
