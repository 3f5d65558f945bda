package main

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The types below are the JSON form of an ExportTraceServiceRequest: ids in hexadecimal digits, 64-bit numbers as
// strings, enumerations as numbers.
type (
	otlpRequest struct {
		Resources []otlpResource `json:"resourceSpans"`
	}
	otlpResource struct {
		Resource struct {
			Attributes []otlpAttribute `json:"attributes,omitempty"`
		} `json:"resource"`
		Scopes []otlpScope `json:"scopeSpans"`
	}
	otlpScope struct {
		Scope struct {
			Name    string `json:"name"`
			Version string `json:"version,omitempty"`
		} `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		ParentID   string          `json:"parentSpanId,omitempty"`
		TraceState string          `json:"traceState,omitempty"`
		Flags      uint32          `json:"flags"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
		Dropped    int             `json:"droppedAttributesCount,omitempty"`
		Events     []otlpEvent     `json:"events,omitempty"`
		Links      []otlpLink      `json:"links,omitempty"`
		Status     otlpStatus      `json:"status"`
	}
	otlpEvent struct {
		Time       string          `json:"timeUnixNano"`
		Name       string          `json:"name"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
	}
	otlpLink struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
	}
	otlpStatus struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code,omitempty"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		String *string    `json:"stringValue,omitempty"`
		Bool   *bool      `json:"boolValue,omitempty"`
		Int    *string    `json:"intValue,omitempty"`
		Double *float64   `json:"doubleValue,omitempty"`
		Array  *otlpArray `json:"arrayValue,omitempty"`
	}
	otlpArray struct {
		Values []otlpValue `json:"values"`
	}
)

// otlpOf returns spans as a request. Those of a process have one resource.
func otlpOf(spans []sdktrace.ReadOnlySpan) *otlpRequest {
	var r otlpResource
	r.Resource.Attributes = attributesOf(resourceOf(spans[0]))
	at := map[string]int{}
	for _, s := range spans {
		scope := s.InstrumentationScope()
		i, ok := at[scope.Name]
		if !ok {
			i = len(r.Scopes)
			at[scope.Name] = i
			r.Scopes = append(r.Scopes, otlpScope{})
			r.Scopes[i].Scope.Name, r.Scopes[i].Scope.Version = scope.Name, scope.Version
		}
		r.Scopes[i].Spans = append(r.Scopes[i].Spans, otlpSpanOf(s))
	}
	return &otlpRequest{[]otlpResource{r}}
}

func resourceOf(s sdktrace.ReadOnlySpan) []attribute.KeyValue {
	if r := s.Resource(); r != nil {
		return r.Attributes()
	}
	return resource.Empty().Attributes()
}

func otlpSpanOf(s sdktrace.ReadOnlySpan) otlpSpan {
	c := s.SpanContext()
	to := otlpSpan{
		TraceID: c.TraceID().String(), SpanID: c.SpanID().String(), TraceState: c.TraceState().String(), Flags: uint32(c.TraceFlags()),
		Name: s.Name(), Kind: int(s.SpanKind()), Start: nanoseconds(s.StartTime()), End: nanoseconds(s.EndTime()),
		Attributes: attributesOf(s.Attributes()), Dropped: s.DroppedAttributes(), Status: statusOf(s.Status()),
	}
	if to.Kind == int(trace.SpanKindUnspecified) {
		to.Kind = int(trace.SpanKindInternal)
	}
	if p := s.Parent(); p.HasSpanID() {
		to.ParentID = p.SpanID().String()
	}
	for _, e := range s.Events() {
		to.Events = append(to.Events, otlpEvent{nanoseconds(e.Time), e.Name, attributesOf(e.Attributes)})
	}
	for _, l := range s.Links() {
		to.Links = append(to.Links, otlpLink{l.SpanContext.TraceID().String(), l.SpanContext.SpanID().String(), attributesOf(l.Attributes)})
	}
	return to
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// statusOf returns a status with the numbers of OTLP, which are not those of package codes.
func statusOf(s sdktrace.Status) otlpStatus {
	switch s.Code {
	case codes.Ok:
		return otlpStatus{Code: 1}
	case codes.Error:
		return otlpStatus{s.Description, 2}
	}
	return otlpStatus{}
}

func attributesOf(all []attribute.KeyValue) []otlpAttribute {
	var to []otlpAttribute
	for _, a := range all {
		to = append(to, otlpAttribute{string(a.Key), otlpValueOf(a.Value)})
	}
	return to
}

func otlpValueOf(v attribute.Value) otlpValue {
	switch v.Type() {
	case attribute.BOOL:
		b := v.AsBool()
		return otlpValue{Bool: &b}
	case attribute.INT64:
		n := strconv.FormatInt(v.AsInt64(), 10)
		return otlpValue{Int: &n}
	case attribute.FLOAT64:
		x := v.AsFloat64()
		return otlpValue{Double: &x}
	case attribute.STRING:
		s := v.AsString()
		return otlpValue{String: &s}
	case attribute.BOOLSLICE:
		return arrayOf(v.AsBoolSlice(), attribute.BoolValue)
	case attribute.INT64SLICE:
		return arrayOf(v.AsInt64Slice(), attribute.Int64Value)
	case attribute.FLOAT64SLICE:
		return arrayOf(v.AsFloat64Slice(), attribute.Float64Value)
	case attribute.STRINGSLICE:
		return arrayOf(v.AsStringSlice(), attribute.StringValue)
	}
	s := v.String()
	return otlpValue{String: &s}
}

func arrayOf[T any](values []T, of func(T) attribute.Value) otlpValue {
	a := new(otlpArray)
	for _, v := range values {
		a.Values = append(a.Values, otlpValueOf(of(v)))
	}
	return otlpValue{Array: a}
}
