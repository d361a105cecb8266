// Command clock is a hook that answers with everything that differs from one run to the next on a real machine.
package main

import (
	crand "crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"rigup.dev/rigup/hooks/sdk"
)

func main() {
	sdk.Main(map[string]sdk.Hook{"clock": func(sdk.Request) sdk.Response {
		begin := time.Now()
		time.Sleep(time.Hour)
		var secret [16]byte
		_, _ = crand.Read(secret[:]) // cannot fail
		set := map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true}
		var order []string
		for k := range maps.Keys(set) {
			order = append(order, fmt.Sprint(k))
		}
		done := make(chan int)
		for i := range 4 {
			go func() { done <- i }()
		}
		var came []string
		for range 4 {
			came = append(came, fmt.Sprint(<-done))
		}
		_, denied := os.ReadFile("/etc/hostname")
		return sdk.No(
			"began "+begin.UTC().String(),
			"took "+time.Since(begin).String(),
			"random "+fmt.Sprint(rand.Uint64()),
			"secret "+hex.EncodeToString(secret[:]),
			"order "+strings.Join(order, " "),
			"came "+strings.Join(came, " "),
			fmt.Sprint("file ", denied),
			fmt.Sprint("environment ", os.Environ(), " arguments ", os.Args),
		)
	}})
}
