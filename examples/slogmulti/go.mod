module github.com/userevents/userevents-go/examples/slogmulti

go 1.26.0

require (
	github.com/samber/slog-multi v1.7.1
	github.com/stretchr/testify v1.12.1
	github.com/userevents/userevents-go v0.1.0
)

require (
	github.com/samber/lo v1.52.0 // indirect
	github.com/samber/slog-common v0.20.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.22.0 // indirect
)
