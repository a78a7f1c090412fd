package benchmarks

import (
	"fmt"
	"sync"
	"testing"
)

// BenchmarkParallel is the call with five attributes from several goroutines at once: the time
// that passes for each call of any of them.
func BenchmarkParallel(b *testing.B) {
	for _, c := range contenders() {
		if c.off != nil {
			parallel(b, "off/"+c.name, c.disabled(b, five))
		}
		if c.on != nil {
			parallel(b, "on/"+c.name, c.on(b, five))
		}
	}
}

func parallel(b *testing.B, name string, c call) {
	if c.flush != nil {
		return // it would measure its queue
	}
	for _, goroutines := range []int{1, 2, 8, 64} {
		b.Run(fmt.Sprintf("%s/goroutines=%d", name, goroutines), func(b *testing.B) {
			c.log()
			b.ResetTimer()
			var wg sync.WaitGroup
			for g := range goroutines {
				calls := b.N / goroutines
				if g < b.N%goroutines {
					calls++
				}
				wg.Go(func() {
					for range calls {
						c.log()
					}
				})
			}
			wg.Wait()
		})
	}
}
