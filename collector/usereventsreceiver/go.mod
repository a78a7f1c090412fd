module github.com/userevents/userevents-go/collector/usereventsreceiver

go 1.26.0

require github.com/userevents/userevents-go v0.1.0

require golang.org/x/sys v0.49.0 // indirect
