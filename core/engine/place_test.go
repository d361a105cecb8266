package engine

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

func TestWhereAnEndpointLeads(t *testing.T) {
	for host, remote := range map[string]bool{
		"unix:///var/run/docker.sock": false, "npipe:////./pipe/docker_engine": false, "tcp://127.0.0.1:2375": false, "tcp://localhost:2375": false,
		"tcp://[::1]:2375": false, "tcp://10.0.0.7:2376": true, "ssh://ada@gpu.example": true, "tcp://gpu.example:2376": true, "tcp://:2375": false, "%": false,
	} {
		if got := (Endpoint{Host: host}).Remote(); got != remote {
			t.Errorf("%s: %v", host, got)
		}
	}
	for source, name := range map[string]string{"default": "", "--engine": "", "DOCKER_HOST": "", "context desktop-linux": "desktop-linux", "DOCKER_CONTEXT colima": "colima"} {
		if got := (Endpoint{Source: source}).Context(); got != name {
			t.Errorf("%s: %q", source, got)
		}
	}
}

// What engines call themselves, and whether they tell their CDI devices.
func TestInfoNamesTheProduct(t *testing.T) {
	for name, c := range map[string]struct {
		api, version, info string
		product            string
		known              bool
		devices            []string
	}{
		"Docker's own":     {"1.47", `{"ApiVersion":"1.47","Platform":{"Name":"Docker Engine - Community"}}`, `{}`, "Docker Engine - Community", false, nil},
		"a distribution's": {"1.41", `{"ApiVersion":"1.41"}`, `{}`, "", false, nil},
		"Podman": {"1.41", `{"ApiVersion":"1.41","Platform":{"Name":"linux/amd64/fedora-42"},"Components":[{"Name":"Podman Engine","Version":"5.4.0"},{"Name":"Conmon"}]}`,
			`{}`, "Podman Engine", false, nil},
		"with CDI": {"1.50", `{"ApiVersion":"1.50"}`, `{"DiscoveredDevices":[{"Source":"cdi","ID":"nvidia.com/gpu=all"},{"Source":"other","ID":"x"}]}`, "", true,
			[]string{"nvidia.com/gpu=all"}},
		"with CDI and no device": {"1.50", `{"ApiVersion":"1.50"}`, `{}`, "", true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{api: c.api, handler: map[string]http.HandlerFunc{}}
			s.on("GET /version", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, json.RawMessage(c.version)) })
			s.on("GET /info", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, json.RawMessage(c.info)) })
			e, err := Open(t.Context(), Options{Host: listen(t, s), Surroundings: surroundings(nil, nil)})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			in, err := e.Info(t.Context())
			if err != nil || in.Product != c.product || in.CDIDevicesKnown != c.known || !slices.Equal(in.CDIDevices, c.devices) {
				t.Errorf("%+v %v", in, err)
			}
		})
	}
}
