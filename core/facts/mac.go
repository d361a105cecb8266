package facts

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"rigup.dev/rigup/hooks/sdk"
)

// macDistro reads what sw_vers prints.
func macDistro(out []byte) (sdk.Distro, error) {
	v := map[string]string{}
	for l := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(l, ":")
		v[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	if v["ProductVersion"] == "" {
		return sdk.Distro{}, errors.New("sw_vers names no version")
	}
	name := v["ProductName"]
	if name == "" {
		name = "macOS"
	}
	return sdk.Distro{ID: "macos", Version: v["ProductVersion"], Name: name + " " + v["ProductVersion"]}, nil
}

// macHypervisor names the hypervisor by the model that it gives its Macs: VirtualMac2,1, VMware20,1, Parallels-ARM.
func macHypervisor(model string) string {
	if strings.HasPrefix(model, "VirtualMac") {
		return "apple"
	}
	return hypervisor("", model, true)
}

// macDisplay is a GPU in what system_profiler prints. What it says of screens is not read: serial numbers are there.
type macDisplay struct {
	Name   string `json:"_name"`
	Model  string `json:"sppci_model"`
	Bus    string `json:"sppci_bus"`         // spdisplays_builtin, spdisplays_pcie_device
	Vendor string `json:"spdisplays_vendor"` // sppci_vendor_Apple, "Intel", "AMD (0x1002)"
	Number string `json:"spdisplays_vendor-id"`
	Device string `json:"spdisplays_device-id"` // 0x7340
	VRAM   string `json:"spdisplays_vram"`      // "8 GB"; of its own
}

// macVendors are PCI's ids of the vendors whose GPUs are in Macs.
var macVendors = map[string]string{"apple": "0x106b", "amd": "0x1002", "ati": "0x1002", "intel": "0x8086", "nvidia": nvidiaVendor}

// macGPUs reads what system_profiler -json SPDisplaysDataType prints. The address of a GPU is its model, and its number
// if there are several: macOS tells no other. Nor does it tell the class.
func macGPUs(out []byte) ([]sdk.PCIDevice, error) {
	var doc struct {
		Displays *[]macDisplay `json:"SPDisplaysDataType"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		return nil, fmt.Errorf("read what system_profiler prints: %w", err)
	}
	if doc.Displays == nil {
		return nil, errors.New("system_profiler does not tell the GPUs")
	}
	var all []sdk.PCIDevice
	seen := map[string]int{}
	for _, m := range *doc.Displays {
		d := sdk.PCIDevice{Vendor: macVendor(m), Device: hexID(m.Device), Class: "0x038000", Model: m.Model, Memory: macMemory(m.VRAM)}
		if d.Model == "" {
			d.Model = m.Name
		}
		if d.Vendor == "" {
			continue
		}
		d.Address = d.Model
		if seen[d.Model]++; seen[d.Model] > 1 {
			d.Address += " " + strconv.Itoa(seen[d.Model])
		}
		all = append(all, d)
	}
	return all, nil
}

// macVendor is the id of the vendor; "" of what has none, such as screens that are listed beside the GPUs.
func macVendor(m macDisplay) string {
	if id := hexID(m.Number); id != "" {
		return id
	}
	text := strings.ToLower(m.Vendor)
	if _, id, ok := strings.Cut(strings.TrimSuffix(text, ")"), "(0x"); ok {
		return hexID("0x" + id)
	}
	return macVendors[strings.TrimPrefix(text, "sppci_vendor_")]
}

// hexID is an id of 16 bits as PCI's are written; "" if s is none.
func hexID(s string) string {
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(s), "0x"), 16, 16)
	if err != nil || n == 0 {
		return ""
	}
	return fmt.Sprintf("0x%04x", n)
}

// macMemory reads "1536 MB" and "8 GB" as bytes.
func macMemory(s string) int64 {
	number, unit, _ := strings.Cut(s, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return n * map[string]int64{"MB": 1 << 20, "GB": 1 << 30}[unit]
}
