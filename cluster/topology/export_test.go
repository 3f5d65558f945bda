package topology

import "github.com/nats-io/nats.go/jetstream"

// Through lets what a map writes go through another bucket.
func (m *Map) Through(wrap func(jetstream.KeyValue) jetstream.KeyValue) { m.kv = wrap(m.kv) }
