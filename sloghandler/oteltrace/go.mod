module github.com/userevents/userevents-go/sloghandler/oteltrace

go 1.25.0

require (
	github.com/stretchr/testify v1.9.0
	github.com/userevents/userevents-go v0.1.0
	go.opentelemetry.io/otel/trace v1.28.0
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	go.opentelemetry.io/otel v1.28.0 // indirect
	golang.org/x/sys v0.30.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
