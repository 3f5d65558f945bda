package dispatch

import "fmt"

// A Policy decides which queries are for the devices; see the package comment.
type Policy uint8

const (
	Auto       Policy = iota // where the query is estimated to finish first
	Long                     // those of at least Threshold blocks
	LBD                      // those of fewer than Threshold blocks
	Halves                   // every second
	Groups                   // by three groups, deadlines and stealing
	Devices                  // all
	Processors               // none

	policies // the number of policies
)

var policyNames = [policies]string{"auto", "long", "lbd", "halves", "groups", "gpu", "cpu"}

func (p Policy) String() string {
	if p < policies {
		return policyNames[p]
	}
	return fmt.Sprintf("Policy(%d)", uint8(p))
}

// ParsePolicy is the inverse of String.
func ParsePolicy(name string) (Policy, error) {
	for p, n := range policyNames {
		if n == name {
			return Policy(p), nil
		}
	}
	return 0, fmt.Errorf("unknown policy %q, want one of %v", name, policyNames)
}

// estimate sets what a query would cost on either side.
func (d *Dispatcher) estimate(j *job) {
	if d.options.Policy != Auto && d.options.Policy != Groups && !j.hasDeadline() {
		return
	}
	j.gpu = d.model.GPU(&j.features, d.leastMissing(j))
	if d.tooDear(j) {
		return
	}
	if len(d.devices) > 0 || j.hasDeadline() { // otherwise nothing depends on it
		j.features.Sample(j.query.Plan)
	}
	j.cpu = d.model.CPU(&j.features)
	if j.hasDeadline() {
		j.helped, _ = d.model.response(&j.features, true)
		if !d.dues.on.Load() {
			d.dues.on.Store(true)
		}
	}
}

// tooDear reports whether cores are so scarce that Auto would not give a query to one, whatever a sample
// says of it. Then it sets an estimate without one: to sample takes a core some microseconds, and others wait
// for it.
func (d *Dispatcher) tooDear(j *job) bool {
	if d.options.Policy != Auto || j.query.On != Any || j.hasDeadline() || j.query.Decision != nil || len(d.devices) == 0 {
		return false
	}
	rough := d.model.CPU(&j.features)
	if d.prices.of(rough/roughly) < d.gpuTime(j) {
		return false
	}
	j.cpu = rough
	return true
}

// roughly: an estimate without a sample is hardly ever so many times too high.
const roughly = 6

// leastMissing is what the device with most of a query's lists lacks of them.
func (d *Dispatcher) leastMissing(j *job) (bytes int64) {
	bytes = j.features.Bytes
	for _, dev := range d.devices {
		if dev.lost.Load() {
			continue
		}
		lacks := int64(0)
		for s := range j.query.Plan.Segments {
			for t := range j.query.Plan.Segments[s].Terms {
				if term := &j.query.Plan.Segments[s].Terms[t]; term.Bounds != nil {
					lacks += missing(term, dev)
				}
			}
		}
		bytes = min(bytes, lacks)
	}
	return bytes
}

// choose decides whether the CPU computes a query at once, and otherwise which group it waits in.
func (d *Dispatcher) choose(j *job) (g group, onCPU bool) {
	switch d.options.Policy {
	case Long:
		return forDevices, j.features.Blocks < d.options.Threshold
	case LBD:
		return forDevices, j.features.Blocks >= d.options.Threshold
	case Halves:
		d.turn++
		return forDevices, d.turn%2 == 0
	case Groups:
		return d.groupOf(j), false
	case Devices:
		return forDevices, false
	case Processors:
		return forDevices, true
	}
	return forDevices, false // Auto has decided without the lock
}

// groupOf is the group of Ding 2009.
func (d *Dispatcher) groupOf(j *job) group {
	switch better := 1 + d.options.Margin; {
	case float64(j.gpu)*better < float64(j.cpu):
		return forDevices
	case float64(j.cpu)*better < float64(j.gpu):
		return forCPU
	}
	return forEither
}
