#!/bin/sh
# Writes the files that mdatagen generates from metadata.yaml. The tool needs another set of modules than the receiver.
set -e
tools=$(mktemp -d)
schemas=$(git rev-parse --show-toplevel)/.schemas # where mdatagen keeps what it downloads: the schemas of other modules, which are here already
trap 'rm -r "$tools" "$schemas"' EXIT
for module in config/configretry; do
	go list -m -f '{{.Version}} {{.Dir}}' "go.opentelemetry.io/collector/$module" | (
		read -r version dir
		mkdir -p "$schemas/$version/$module"
		cp "$dir/metadata.yaml" "$schemas/$version/$module"
	)
done
GOWORK=off go build -modfile=tools.mod -o "$tools" go.opentelemetry.io/collector/cmd/mdatagen
"$tools/mdatagen" metadata.yaml
rm -r internal/metadatatest # no test compares whole metrics
rm internal/metadata/generated_logs*.go internal/metadata/generated_resource*.go # reader/otlp makes logs and resources
# Programs make a whole Config by the factory, not its parts.
sed -i 's/\bNewDefault\([A-Z][A-Za-z]*Config\)\b/newDefault\1/; s/configretry\.newDefault/configretry.NewDefault/' generated_config.go
