package hookhost

import (
	"context"
	"testing"

	"rigup.dev/rigup/core/hookhost/wasmtest"
	"rigup.dev/rigup/hooks/sdk"
)

func TestQuick(t *testing.T) {
	h := New(Options{})
	defer h.Close()
	req := sdk.Request{API: sdk.API, Phase: sdk.Detect, Kind: sdk.GPUHook}
	for _, m := range [][]byte{wasmtest.Answer(sdk.No("no")), wasmtest.Loop(), wasmtest.Trap(), wasmtest.Exiting(3), wasmtest.Exiting(0xffffffff), wasmtest.Bomb(3), wasmtest.Component()} {
		a, err := h.Ask(context.Background(), NewModule("x", m), req)
		t.Log(a, err)
	}
}
