// Package dispatch gets plans answered: it chooses a processor for each, forms batches for devices,
// and has the CPU complete what a device leaves open or loses. Devices and the CPU are interfaces,
// so all of it runs, and is tested, without either.
//
// # The way of a query
//
//	Submit   a policy chooses (choose.go), by what the query would cost on either side (cost.go, sample.go,
//	         shape.go)
//	         CPU: the ticket is ready at once, and Wait computes, on the goroutine of the caller
//	         device: the query waits in a queue (queue.go)
//	a batch  starts at once on an idle device. A busy one gets its next batch shortly before it is
//	         done (timeline.go), or when there are enough queries or bytes (form.go). Lists that
//	         several queries share count once
//	Wait     returns the answer. The goroutine of the caller completes what the device left open
//	         (post-processing, Wang 2017), while the device continues with other batches
//
// So the CPU work of a query always runs on the goroutine that waits for it. At most Options.Cores
// of them compute at a time, and a device never waits for the CPU. A query that the devices refuse
// goes to the CPU, unless it demands a device.
//
// # Policies
//
//	Auto     where the query is estimated to finish first: its cost, plus the work that waits
//	         there. While cores are scarce, their time has a price (price.go)
//	Long     long queries to the devices, others to the CPU, by the number of blocks of their
//	         lists
//	LBD      the opposite (length-based distribution of Huang 2017: the paper's kernels gave each
//	         thread a range of documents, and long lists were unequally divided; ours are cut
//	         into tiles)
//	Halves   every second query to the devices (Huang's simple distribution)
//	Groups   three groups: much better on a device, much better on the CPU, and in between
//	         (Ding 2009). A query in between goes to the first free processor, and an idle one
//	         takes work from the other
//	Devices, Processors  all to one kind
//
// The answer is the same wherever a query runs.
//
// # Deadlines
//
// Queries that wait, for a core (gate.go) or a device (queue.go), take turns by their deadlines
// (Query.Due). Those that are estimated to be late make room for others:
//
//   - At the gate, the longest queries step back until all others can be in time (Moore 1968).
//     They compute when nobody else wants the core, or when they can be in time after all.
//   - Before a batch is formed, queries that it would answer too late are taken out of the queue
//     (form.go): all of a batch are answered when it is done. Under Auto the CPU gets them.
//   - Auto sends a query where it is in time, if that is so on one side only (deadline.go).
//   - Queries that come to the CPU only by these two rules do not count as its load, nor do late
//     ones that wait: otherwise queries that need no rescue would find the cores busy.
//
// So under more load than can be answered, as many queries as possible are in time, instead of all
// being a little late. Without devices, only queries with a deadline wait for cores.
//
// # When a device fails
//
// The CPU answers the queries of a failed batch. A lost device gets no further batch. After the
// last device is lost, queries go to the CPU, and those that demand a device fail with
// device.ErrNoDevice.
package dispatch
