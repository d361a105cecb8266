package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"rigup.dev/rigup/core/reason"
)

func contextFile(name, host string, files map[string]string) map[string]string {
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	files["/home/u/.docker/contexts/meta/"+id+"/meta.json"] = `{"Name":"` + name + `","Endpoints":{"docker":{"Host":"` + host + `","SkipTLSVerify":true}}}`
	files["/home/u/.docker/contexts/tls/"+id+"/docker"] = ""
	return files
}

func TestOrderOfEndpoints(t *testing.T) {
	files := contextFile("desktop", "unix:///d.sock", map[string]string{"/home/u/.docker/config.json": `{"currentContext":"desktop"}`})
	contextFile("other", "unix:///o.sock", files)
	for _, c := range []struct {
		name, flag string
		env        map[string]string
		want       string
	}{
		{"flag", "unix:///f.sock", map[string]string{"DOCKER_HOST": "unix:///h.sock", "DOCKER_CONTEXT": "other"}, "unix:///f.sock (--engine)"},
		{"a path as flag", "/f.sock", nil, "unix:///f.sock (--engine)"},
		{"DOCKER_HOST", "", map[string]string{"DOCKER_HOST": "unix:///h.sock", "DOCKER_CONTEXT": "other"}, "unix:///h.sock (DOCKER_HOST)"},
		{"DOCKER_CONTEXT", "", map[string]string{"DOCKER_CONTEXT": "other"}, "unix:///o.sock (DOCKER_CONTEXT other)"},
		{"current context", "", nil, "unix:///d.sock (context desktop)"},
		{"default by name", "", map[string]string{"DOCKER_CONTEXT": "default"}, "unix:///var/run/docker.sock (default)"},
		{"another configuration", "", map[string]string{"DOCKER_CONFIG": "/elsewhere"}, "unix:///var/run/docker.sock (default)"},
	} {
		got, err := Candidates(c.flag, surroundings(c.env, files))
		if err != nil || got[0].String() != c.want {
			t.Errorf("%s: %v %v", c.name, got, err)
		}
		if !strings.Contains(c.want, "default") && len(got) != 1 {
			t.Errorf("%s: what was named does not stand alone: %v", c.name, got)
		}
	}
	got, err := Candidates("", surroundings(nil, files))
	if err != nil || got[0].CertDir == "" || !got[0].SkipVerify {
		t.Errorf("%+v %v", got, err)
	}
}

func TestEndpointsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		flag string
		env  map[string]string
		id   reason.ID
	}{
		{"ssh://me@far.test", nil, reason.EngineRemote},
		{"tcp://192.0.2.1:2376", nil, reason.EngineRemote},
		{"tcp://far.test:2376", nil, reason.EngineRemote},
		{"", map[string]string{"DOCKER_HOST": "ssh://far.test"}, reason.EngineRemote},
		{"ftp://x", nil, reason.UsageValue},
		{"docker", nil, reason.UsageValue},
		{"", map[string]string{"DOCKER_CONTEXT": "missing"}, reason.UsageValue},
	} {
		_, err := Candidates(c.flag, surroundings(c.env, nil))
		if err == nil || reason.Of(err).ID != c.id {
			t.Errorf("%q %v: %v", c.flag, c.env, err)
		}
	}
	_, err := Candidates("", surroundings(nil, map[string]string{"/home/u/.docker/config.json": "{"}))
	wantReason(t, err, reason.UsageConfig, "/home/u/.docker/config.json")
}

func TestTLSOnLoopback(t *testing.T) {
	got, err := Candidates("", surroundings(map[string]string{"DOCKER_HOST": "tcp://127.0.0.1:2376", "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": "/certs"}, nil))
	if err != nil || got[0].CertDir != "/certs" || got[0].SkipVerify {
		t.Errorf("%+v %v", got, err)
	}
	got, err = Candidates("tcp://localhost:2375", surroundings(nil, nil))
	if err != nil || got[0].CertDir != "" {
		t.Errorf("%+v %v", got, err)
	}
}

func TestStartRemedyFitsTheMachine(t *testing.T) {
	for _, c := range []struct {
		goos  string
		env   map[string]string
		files []string
		want  string
	}{
		{"linux", nil, []string{"/bin/dockerd", "/run/systemd/system"}, "sudo systemctl start docker"},
		{"linux", nil, []string{"/bin/dockerd"}, "sudo service docker start"},
		{"linux", nil, []string{"/home/u/.docker/desktop"}, "systemctl --user start docker-desktop"},
		{"linux", nil, []string{"/mnt/wsl"}, "WSL integration"},
		{"linux", nil, []string{"/snap/bin/docker"}, "sudo snap start docker"},
		{"linux", nil, []string{"/bin/docker"}, "install Docker"},
		{"darwin", nil, []string{"/Applications/Docker.app"}, "start Docker Desktop"},
		{"darwin", nil, []string{"/bin/colima"}, "colima start"},
		{"darwin", nil, nil, "install Docker Desktop"},
		{"windows", map[string]string{"ProgramFiles": `C:\Program Files`}, []string{`C:\Program Files\Docker\Docker\Docker Desktop.exe`}, "start Docker Desktop"},
		{"windows", nil, nil, "install Docker Desktop"},
	} {
		files := map[string]string{}
		for _, f := range c.files {
			files[f] = ""
		}
		s := surroundings(c.env, files)
		s.GOOS = c.goos
		cands, err := Candidates("", s)
		if err != nil {
			t.Fatal(err)
		}
		if got := startRemedy(s, cands); !strings.Contains(got, c.want) {
			t.Errorf("%s %v: %s", c.goos, c.files, got)
		}
	}
	s := surroundings(nil, nil)
	s.GOOS = "windows"
	if got, _ := Candidates("", s); len(got) != 2 || got[0].Host != "npipe:////./pipe/docker_engine" {
		t.Errorf("%v", got)
	}
}
