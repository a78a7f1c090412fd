#!/bin/sh
# Writes the files that mdatagen generates from metadata.yaml. The tool needs another set of modules than the receiver.
set -e
tools=$(mktemp -d)
trap 'rm -r "$tools"' EXIT
GOWORK=off go build -modfile=tools.mod -o "$tools" go.opentelemetry.io/collector/cmd/mdatagen
"$tools/mdatagen" metadata.yaml
