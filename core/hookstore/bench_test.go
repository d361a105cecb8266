package hookstore

import (
	"fmt"
	"testing"
	"time"

	"rigup.dev/rigup"
	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/core/hookhost/wasmtest"
)

// BenchmarkList measures what installed hooks cost before any is asked: small ones, and ones in Go, which are some
// megabytes each. A plan takes a glance.
func BenchmarkList(b *testing.B) {
	large := wasmtest.Writing(1, make([]byte, 3<<20)) // what there is without the program's own module
	if own, err := FromProgram(rigup.Files); err == nil && len(own) > 0 {
		if large, err = hookhost.WithoutManifest(own[0].Module.Bytes); err != nil {
			b.Fatal(err)
		}
	}
	for name, module := range map[string][]byte{"small": wasmtest.Loop(), "large": large} {
		for _, n := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%s-%d", name, n), func(b *testing.B) {
				s := Store{Dir: b.TempDir(), Now: time.Now, By: "ada"}
				for i := range n {
					m := manifest(fmt.Sprintf("hook-%d 1.0.0", i))
					r, err := s.ReviewFetched(Artifact{Module: wasmtest.WithManifest(module, m)}, Options{AllowUnsigned: true})
					if err == nil {
						_, err = s.Approve(b.Context(), r, r.Accepts())
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				for how, look := range map[string]func() View{"list": s.List, "glance": s.Glance} {
					b.Run(how, func(b *testing.B) {
						b.ReportAllocs()
						for b.Loop() {
							if len(look().Usable()) != n {
								b.Fatal("not all are usable")
							}
						}
					})
				}
			})
		}
	}
}
