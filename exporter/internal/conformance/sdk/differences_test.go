package sdk

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// The functions in this file apply the differences that the package comment of otlp documents to what the SDK's exporter
// sends.

// asTyped applies the types that the JSON of typed events keeps: bytes are base64 texts, and NaN and the infinities are
// texts.
func asTyped(v any) {
	walk(v, func(o map[string]any) {
		if s, ok := o["bytesValue"]; ok {
			delete(o, "bytesValue")
			o["stringValue"] = s
		}
		if n, ok := o["doubleValue"].(string); ok { // NaN or an infinity
			delete(o, "doubleValue")
			o["stringValue"] = n
		}
	})
}

// asText applies the types that OpenTelemetry's text of a list keeps, in which whole numbers have no fraction.
func asText(v any) {
	walk(v, func(o map[string]any) {
		if n, ok := o["doubleValue"].(float64); ok && n == math.Trunc(n) && math.Abs(n) < 1e15 {
			delete(o, "doubleValue")
			o["intValue"] = strconv.FormatInt(int64(n), 10)
		}
	})
}

// asSchema applies the types that the Common Schema keeps: all but those in lists of several types, which are JSON.
func asSchema(v any) {
	walk(v, func(o map[string]any) {
		array, ok := o["arrayValue"].(map[string]any)
		if !ok {
			return
		}
		kinds := map[string]bool{}
		for _, e := range array["values"].([]any) {
			kind := "none"
			for kind = range e.(map[string]any) {
			}
			kinds[kind] = true
		}
		if len(kinds) > 1 || kinds["none"] || kinds["arrayValue"] || kinds["kvlistValue"] {
			asTyped(array)
			asText(array)
		}
	})
}

// asTextBody makes the body of a log record a text, as typed events have it. A body that is empty is null.
func asTextBody(record any, text string) {
	body := map[string]any{}
	if text != "" {
		body["stringValue"] = text
	}
	record.(map[string]any)["body"] = body
}

// withLinks removes from links whether the linked span is in another program, which events do not tell, and adds the
// trace state, which the SDK does not send.
func withLinks(span any, states []string) {
	links, _ := span.(map[string]any)["links"].([]any)
	for i, l := range links {
		l := l.(map[string]any)
		if flags := int(l["flags"].(float64)) & 0xff; flags != 0 {
			l["flags"] = float64(flags)
		} else {
			delete(l, "flags")
		}
		if states[i] != "" {
			l["traceState"] = states[i]
		}
	}
}

// asDouble makes integers up to 2^53 floating-point numbers.
func asDouble(v any) {
	walk(v, func(o map[string]any) {
		s, ok := o["asInt"].(string)
		if !ok {
			return
		}
		if n, err := strconv.ParseInt(s, 10, 64); err == nil && n <= 1<<53 && n >= -1<<53 {
			delete(o, "asInt")
			o["asDouble"] = float64(n)
		}
	})
}

// resourceInRecord moves the attributes of the resource to the record, but for the identity of the service: the Common Schema
// has no other place for them.
func resourceInRecord(i item) {
	resource, record := i["resource"].(map[string]any), i["item"].(map[string]any)
	list, _ := resource["attributes"].([]any)
	var kept []any
	for _, a := range list {
		if key, _ := a.(map[string]any)["key"].(string); strings.HasPrefix(key, "service.") {
			kept = append(kept, a)
			continue
		}
		own, _ := record["attributes"].([]any)
		record["attributes"] = append(own, a)
	}
	resource["attributes"] = kept
	sortAttributes(record)
}

// clone returns a copy that shares nothing.
func clone(items []item) (copied []item) {
	text, err := json.Marshal(items)
	if err == nil {
		err = json.Unmarshal(text, &copied)
	}
	if err != nil {
		panic(err)
	}
	return copied
}
