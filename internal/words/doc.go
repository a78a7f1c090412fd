// Package words hands out enable words, in which the kernel sets bits of enabled events.
package words
