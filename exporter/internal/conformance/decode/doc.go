// Package decode tests that package reader reads back what the adapters write.
package decode
