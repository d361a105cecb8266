package hookhost

import (
	"path/filepath"
	"runtime"
	"testing"
	"time"

	w "rigup.dev/rigup/core/hookhost/wasmtest"
	"rigup.dev/rigup/hooks/sdk"
)

// benchmarkAsk measures requests. Cold ones start a child and decode the module, warm ones find it there, remembered
// ones need none.
func benchmarkAsk(b *testing.B, module []byte) {
	m := NewModule("bench", module)
	b.Run("cold", func(b *testing.B) {
		var e ended
		for b.Loop() {
			h := New(Options{observe: e.add})
			mustAsk(b, h, m, detect())
			h.Close()
		}
		b.ReportMetric(float64(e.peak()>>20), "MiB-child")
	})
	b.Run("warm", func(b *testing.B) {
		h := New(Options{})
		defer h.Close()
		mustAsk(b, h, m, detect())
		for b.Loop() {
			mustAsk(b, h, m, detect())
		}
	})
	b.Run("remembered", func(b *testing.B) {
		h := New(Options{Memory: DirMemory(filepath.Join(b.TempDir(), "answers"))})
		defer h.Close()
		mustAsk(b, h, m, detect())
		for b.Loop() {
			if a := mustAsk(b, h, m, detect()); !a.Remembered {
				b.Fatal("it was asked again")
			}
		}
	})
}

func BenchmarkAskTiny(b *testing.B) {
	resetPeak()
	benchmarkAsk(b, w.Answer(sdk.No("no")))
}

func BenchmarkAskGo(b *testing.B) {
	module := goHook(b, "clock")
	resetPeak()
	benchmarkAsk(b, module)
}

func BenchmarkInspect(b *testing.B) {
	for name, module := range map[string][]byte{"bomb": w.Bomb(w.CodeID), "go": goHook(b, "clock")} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(module)))
			for b.Loop() {
				_, _ = Inspect(module) // one of them is refused
			}
		})
	}
}

// BenchmarkCorpus runs every hostile module with the numbers that users have, and reports the worst of each. The
// unchecked modules go to the child as they are.
func BenchmarkCorpus(b *testing.B) {
	for name, unchecked := range map[string]bool{"all layers": false, "child alone": true} {
		b.Run(name, func(b *testing.B) {
			var slowest time.Duration
			var peak, heap int64
			for b.Loop() {
				for _, c := range corpus() {
					module := c.module()
					a := askOnce(b, Options{unchecked: unchecked}, module)
					if a.took > slowest {
						slowest = a.took
						b.Logf("%s: %v", c.name, a.took)
					}
					if a.peak > peak {
						peak = a.peak
						b.Logf("%s: %d MiB", c.name, a.peak>>20)
					}
					heap = max(heap, int64(a.heap)-int64(len(module)))
				}
			}
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			b.ReportMetric(slowest.Seconds(), "s-slowest")
			b.ReportMetric(float64(peak>>20), "MiB-child")
			b.ReportMetric(float64(heap>>10), "KiB-parent")
		})
	}
}
