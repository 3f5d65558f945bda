package gpu

import (
	"reflect"
	"testing"

	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/gpuexec/listcache"
	"github.com/riffle-search/riffle/internal/accelerator"
)

// TestOptionsArrive: an Accelerator passes its options to the executor.
func TestOptionsArrive(t *testing.T) {
	for _, test := range []struct {
		given accelerator.Options
		want  gpuexec.Options
	}{
		{
			accelerator.Options{BatchBytes: 1, FlatBytes: 2, NoFlat: true, Prune: true, StaticCache: true},
			gpuexec.Options{BatchBytes: 1, FlatBytes: 2, NoFlat: true, Leave: true, SmallDocs: 1 << 15, Cache: listcache.Config{Static: true}},
		},
		{
			accelerator.Options{KeepSmall: true},
			gpuexec.Options{},
		},
		{
			accelerator.Options{Stream: true, HostBytes: 3, StaticCache: true},
			gpuexec.Options{Stream: true, HostBytes: 3, StaticLists: true, Cache: listcache.Config{Static: true}},
		},
	} {
		if got := executorOptions(&test.given); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%+v, want %+v", got, test.want)
		}
	}
}
