package engine

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
)

func TestLimitsReachTheEngine(t *testing.T) {
	var asked struct {
		HostConfig container.HostConfig
	}
	s := &server{api: "1.41", handler: map[string]http.HandlerFunc{}}
	s.on("POST /containers/create", func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		answer(w, 201, map[string]string{"Id": "x"})
	})
	e, err := Open(t.Context(), Options{Host: listen(t, s), Surroundings: surroundings(nil, nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateContainer(t.Context(), ContainerSpec{Image: "i", Limits: Limits{ReadOnly: true, NoPrivileges: true, Memory: 1 << 20, Processes: 7, Log: 9000}}); err != nil {
		t.Fatal(err)
	}
	h := asked.HostConfig
	if !h.ReadonlyRootfs || len(h.CapDrop) != 1 || h.CapDrop[0] != "ALL" || len(h.SecurityOpt) != 1 || h.Memory != 1<<20 || h.MemorySwap != 1<<20 ||
		h.PidsLimit == nil || *h.PidsLimit != 7 || h.LogConfig.Config["max-size"] != "9000" {
		t.Errorf("%+v", h)
	}
	asked.HostConfig = container.HostConfig{}
	if _, err := e.CreateContainer(t.Context(), ContainerSpec{Image: "i"}); err != nil {
		t.Fatal(err)
	}
	if h := asked.HostConfig; h.ReadonlyRootfs || h.CapDrop != nil || h.SecurityOpt != nil || h.Memory != 0 || h.PidsLimit != nil || h.LogConfig.Type != "" {
		t.Errorf("nothing was asked for: %+v", h)
	}
}

func TestLogTailKeepsTheEnd(t *testing.T) {
	s := &server{api: "1.41", handler: map[string]http.HandlerFunc{}}
	s.on("GET /containers/x/logs", func(w http.ResponseWriter, _ *http.Request) {
		out, errs := stdcopy.NewStdWriter(w, stdcopy.Stdout), stdcopy.NewStdWriter(w, stdcopy.Stderr)
		for range 1000 {
			_, _ = out.Write([]byte(strings.Repeat("x", 100) + "\n"))
		}
		_, _ = errs.Write([]byte("the end\n"))
	})
	e, err := Open(t.Context(), Options{Host: listen(t, s), Surroundings: surroundings(nil, nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for limit, want := range map[int]string{4: "end\n", 11: "xx\nthe end\n"} {
		if got, err := e.LogTail(t.Context(), "x", limit); err != nil || got != want {
			t.Errorf("%d: %q %v", limit, got, err)
		}
	}
	if got, err := e.LogTail(t.Context(), "none", 9); KindOf(err) != NotFound {
		t.Errorf("%q %v", got, err)
	}
}
