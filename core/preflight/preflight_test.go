package preflight

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/reason"
)

func good() Input {
	return Input{
		Machine:    facts.Machine{OS: "linux", Arch: "amd64", Watches: facts.Of(int64(524288))},
		Engine:     Engine{OS: "linux", Arch: "amd64", CPUs: 8, Memory: 32 << 30, Cgroup: "2", RootDir: "/var/lib/docker", InMachine: true},
		EngineDisk: facts.Place{Type: facts.Of("ext4"), Free: facts.Of(uint64(200e9))},
		DataDir:    "/home/ada/d",
		Data:       facts.Place{Type: facts.Of("ext4"), Free: facts.Of(uint64(200e9))},
	}
}

func TestPreflight(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Input)
		want   string // ids; fatal ones with !
	}{
		"good":                  {func(*Input) {}, ""},
		"windows containers":    {func(i *Input) { i.Engine.OS = "windows" }, "!engine.not-linux"},
		"other architecture":    {func(i *Input) { i.Engine.Arch = "arm64" }, "!engine.architecture"},
		"too little memory":     {func(i *Input) { i.Engine.Memory = 2 << 30 }, "!machine.memory"},
		"nominal 8 GB is 8 GB":  {func(i *Input) { i.Engine.Memory = 8<<30 - 400<<20 }, ""},
		"little memory":         {func(i *Input) { i.Engine.Memory = 4 << 30 }, "machine.memory-low"},
		"one CPU":               {func(i *Input) { i.Engine.CPUs = 1 }, "machine.cpu"},
		"disk full":             {func(i *Input) { i.EngineDisk.Free = facts.Of(uint64(3e9)) }, "!machine.disk"},
		"disk full, but ours":   {func(i *Input) { i.EngineDisk.Free = facts.Of(uint64(3e9)); i.Exists = true }, "machine.disk-low"},
		"data on nfs":           {func(i *Input) { i.Data.Type = facts.Of("nfs4") }, "!data.network-filesystem"},
		"data disk full":        {func(i *Input) { i.Data.Free = facts.Of(uint64(5e6)) }, "!machine.disk"},
		"few watches":           {func(i *Input) { i.Machine.Watches = facts.Of(int64(8192)) }, "machine.inotify"},
		"watches of another VM": {func(i *Input) { i.Machine.Watches = facts.Of(int64(8192)); i.Engine.InMachine = false }, ""},
		"cgroup v1":             {func(i *Input) { i.Engine.Cgroup = "1" }, "machine.cgroup-v1"},
		"advice is not repeated": {func(i *Input) {
			i.Exists = true
			i.Engine.Memory, i.Engine.CPUs, i.Engine.Cgroup = 4<<30, 1, "1"
			i.Machine.Watches = facts.Of(int64(8192))
		}, ""},
		"C1 unknown fails nothing": {func(i *Input) {
			i.Engine = Engine{}
			i.EngineDisk = facts.Place{Free: facts.Not[uint64]("timed out")}
			i.Data = facts.Place{Type: facts.Not[string]("permission denied")}
			i.Machine.Watches = facts.None[int64]()
		}, ""},
		"all at once": {func(i *Input) {
			i.Engine.OS, i.Engine.Memory = "windows", 1<<30
			i.EngineDisk.Free = facts.Of(uint64(1e9))
			i.Data.Type = facts.Of("cifs")
		}, "!engine.not-linux !machine.memory !machine.disk !data.network-filesystem"},
	} {
		t.Run(name, func(t *testing.T) {
			in := good()
			c.change(&in)
			var got []string
			for _, f := range Run(in) {
				id := string(f.Reason.ID)
				if f.Fatal {
					id = "!" + id
				}
				got = append(got, id)
				if len(f.Reason.Remedy) == 0 || strings.Contains(f.Reason.Text, "{") {
					t.Errorf("%+v", f.Reason)
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got %q, want %q", s, c.want)
			}
		})
	}
}

func TestDataDirectoryPlaces(t *testing.T) {
	home := t.TempDir()
	other := t.TempDir()
	own := filepath.Join(home, ".rigup")
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(home, "real"), 0o755))
	must(os.Symlink(filepath.Join(home, "real"), filepath.Join(home, "in")))
	must(os.Symlink(other, filepath.Join(home, "out")))
	must(os.Symlink(filepath.Join(home, "gone"), filepath.Join(home, "nowhere")))
	must(os.WriteFile(filepath.Join(home, "file"), nil, 0o644))
	for dir, why := range map[string]string{
		filepath.Join(home, "real", "a", "b"):    "",
		filepath.Join(home, "in", "new"):         "",
		filepath.Join(own, "clusters/demo/data"): "",
		home:                                     "whole of",
		home + "/../" + filepath.Base(home):      "whole of",
		filepath.Join(home, "out"):               "not below",
		filepath.Join(home, "out", "deep"):       "not below",
		filepath.Join(home, "nowhere"):           "link to nowhere",
		filepath.Join(home, "file"):              "not a directory",
		"relative/path":                          "not an absolute path",
		"/":                                      "not below",
		"/etc/rigup":                             "not below",
		"/mnt":                                   "whole of",
		other:                                    "not below",
	} {
		err := CheckPlace(dir, home, own)
		if why == "" {
			if err != nil {
				t.Errorf("%s: %v", dir, err)
			}
			continue
		}
		if err == nil || reason.Of(err).ID != reason.DataPlace || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want %q", dir, err, why)
		}
	}
	if _, err := os.Stat(own); err == nil {
		t.Error("a check created something")
	}
}
