// Package archtest holds the rules about which package may import what.
package archtest
