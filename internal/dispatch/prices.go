package dispatch

// The prices with which a model begins. Those of the CPU were fitted to one core of a Zen 5
// (bench/results/2026-11-26-estimates.md), those of devices to an H200
// (bench/results/2026-11-23-gpu-auto.md), those of counts without hits to an H100
// (bench/results/2026-11-25-gpu.md). Those of trees with hits on devices are estimates: a tree's postings
// take three times as long as a flat query's, and with a total, all of them are scored. On the CPU, trees
// with hits cost what flat queries do, and counts what bench/results/2026-11-20-counting.md has; those of
// trees take 2.6 times as long, as on the machine of the H100.
var (
	cpuPrices = [paths]vector{
		anyOf:          {perQuery: 1400, perTerm: 300, perRoot: 26, perHit: 150, perVisit: 30, perPosting: 0.05, perTotal: 0.08, perBit: 0.08, perBitTree: 0.13},
		allOf:          {perQuery: 1200, perTerm: 60, perRoot: 1.5, perHit: 4, perRootShortest: 200, perShortest: 3, perSecond: 0.03, perTotal: 0.02, perBit: 0.02},
		union:          {perQuery: 2010, perSparse: 0.0365, perTile: 67.2, perLive: 0.413, perEssential: 0.0551, perOther: 0.567, perHighTile: 13.9, perHighLive: 7.45, perHighOther: 2.03, perRoot: 5.01, perVisit: 11.6, perTotal: 0.08},
		inTiles:        {perTerm: 4960, perHit: 350, perLive: 2.19, perHighTile: 95.3, perHighLive: 3.88, perTouched: 3.11, perVisit: 72.6, perTotal: 0.02},
		byLead:         {perQuery: 112, perSparse: 0.00239, perSparseList: 2.39, perLiveBlock: 640, perLiveOther: 58.6, perTouched: 22.5, perRootShortest: 122, perVisit: 0.256, perSecond: 0.0558, perRoot: 0.71, perTotal: 0.02},
		oneTile:        {perHit: 406, perSparse: 6.3, perSparseList: 4720, perTile: 19.4, perHighLive: 2.52, perRoot: 20.6, perVisit: 25.3, perTotal: 0.08},
		oneLead:        {perQuery: 405, perHit: 52.3, perLiveBlock: 19.6, perRootShortest: 97, perVisit: 8.38, perTotal: 0.08},
		union + many:   {perTerm: 298, perHit: 63, perSparse: 0.27, perTile: 85.9, perLive: 19.7, perEssential: 0.846, perOther: 2.37, perHighTile: 46.7, perHighLive: 1.84, perHighOther: 2.52, perRoot: 191, perVisit: 12.9, perPosting: 0.0782, perTotal: 0.08},
		inTiles + many: {perTile: 451, perLive: 8.47, perHighLive: 2.01, perHighEssential: 1.13, perTouched: 82.8, perRootShortest: 340, perVisit: 38.2, perRoot: 6.61, perTotal: 0.02},
		byLead + many:  {perQuery: 542, perTerm: 43.5, perLiveBlock: 180, perLiveOther: 85.2, perTouched: 143, perCandidate: 3.4, perRootShortest: 74.6, perVisit: 0.24, perSecond: 0.0641, perRoot: 0.771, perTotal: 0.02},
		oneTile + many: {perHit: 72, perSparse: 15.6, perLive: 1.05, perEssential: 0.444, perHighTile: 3.64, perRoot: 333, perVisit: 133, perTotal: 0.08},
		oneLead + many: {perHit: 17.8, perLiveBlock: 333, perShortest: 4.3, perRootShortest: 275, perVisit: 12.9, perTotal: 0.08},
	}

	// With the help of other cores what grows with the lists takes a fifth of the time.
	helpedPrices = helpedBy(5, cpuPrices)

	gpuPrices = [2]vector{
		{perQuery: 1500, perTerm: 200, perPosting: 0.0009, perByte: 0.02, perBatch: 300_000, perLog: 200_000, perTree: 0.0018, perTotal: 0.0045, perBit: 0.0015, perBitTree: 0.0006},
		{perQuery: 1000, perTerm: 200, perPosting: 0.0005, perShortest: 0.004, perByte: 0.02, perBatch: 300_000, perLog: 150_000, perTotal: 0.002, perBit: 0.0017},
	}
)

// helpedBy divides what grows with the lists by a number of cores. What is of the beginning and the end
// of a query, or of queries too short to be divided, costs as much, and the root of the shortest list,
// which is of short and long ones, half.
func helpedBy(cores float64, alone [paths]vector) (helped [paths]vector) {
	helped = alone
	for p := range helped {
		for i := range helped[p] {
			switch i {
			case perQuery, perTerm, perRoot, perHit:
			case perRootShortest:
				helped[p][i] /= 2
			default:
				helped[p][i] /= cores
			}
		}
	}
	return helped
}
