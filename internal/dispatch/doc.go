// Package dispatch sees to it that plans are answered: it chooses a processor for each, forms
// batches for devices, and has the CPU complete what a device leaves open or loses. Devices
// and the CPU are interfaces, so all of it runs, and is tested, without either.
//
// # The way of a query
//
//	Submit   a policy chooses (choose.go), by what the query would cost here and there (cost.go)
//	         CPU: the ticket says so at once, and Wait computes, on the goroutine of the caller
//	         device: the query waits in a queue (queue.go)
//	a batch  is formed at once for a device that has nothing to do, but under Auto; for one that works on another when there are enough
//	         queries or bytes, or the oldest query has waited for long enough (form.go); lists that several queries share
//	         count once
//	Wait     gives the answer; what the device left open the goroutine of the caller looks at first
//	         (post-processing, Wang 2017), while the device goes on with other batches
//
// So the CPU work of a query is always done by whoever waits for it, of whom only as many compute at a time as there are
// cores (Options.Cores), and a device never waits for the CPU.
//
// # Policies
//
//	Auto     where the query is estimated to be done first: cost, and the work that waits there already. One in
//	         256 of those for the CPU goes to a device all the same, so that estimates do not grow old
//	Long     long queries to the devices, others to the CPU, by the number of blocks of their lists
//	LBD      the opposite (length-based distribution of Huang 2017: the paper's kernels gave each
//	         thread a range of documents, and long lists were unequally divided; ours are cut into tiles)
//	Halves   every second query to the devices (Huang's simple distribution)
//	Groups   three groups: much better on a device, much better on the CPU, and in between (Ding 2009). A
//	         query in between goes to the processor that first has time, and an idle one takes
//	         work from the other
//	Devices, Processors  all to one kind
//
// The answer is the same wherever a query runs.
//
// # When a device fails
//
// The queries of a batch that fails are answered by the CPU. A device that is lost gets no
// further batch; with the last one, queries go to the CPU, and those that demand a device fail with device.ErrNoDevice.
package dispatch
