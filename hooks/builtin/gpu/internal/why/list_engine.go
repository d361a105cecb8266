package why

// Commands that make an engine use NVIDIA's toolkit.
const (
	configure         = "sudo nvidia-ctk runtime configure --runtime=docker && "
	configureNative   = configure + "sudo systemctl restart docker"
	configureWSL      = configure + "sudo service docker restart" // many WSL distributions run without systemd
	configureRootless = "nvidia-ctk runtime configure --runtime=docker --config=$HOME/.config/docker/daemon.json && systemctl --user restart docker"
	noCgroups         = "sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups --in-place"
	cdiGenerate       = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
	snapRestart       = "sudo snap restart docker" // it looks for the driver, and sets its own toolkit up, when it starts
)

// withoutSpec is for GPUs that need no CDI spec of the engine's.
const withoutSpec = "remove the spec of {vendor} GPUs from the directories for CDI specs, or make it anew: rigup needs none, device nodes do as well" + again

var engine = []cause{
	{NVIDIA, NoToolkit, "{engine} cannot reach the GPU: NVIDIA's container toolkit is not installed.", []remedy{
		{Linux | Native, "{toolkit}, then " + configureNative + again},
		{Windows | Native, "{toolkit}, then " + configureWSL + again},
		{Rootless, "{toolkit}, then " + configureRootless + again},
		{Rootless, "without root rights the toolkit must leave control groups alone: " + noCgroups},
		{Podman, "{toolkit}, then " + cdiGenerate + again}}},
	{NVIDIA, ToolkitUnused, "NVIDIA's container toolkit is installed, but {engine} does not use it.", []remedy{
		{Linux | Native, configureNative + again},
		{Windows | Native, configureWSL + again},
		{Rootless, configureRootless + again},
		{Podman, cdiGenerate + again}}},
	{NVIDIA, SnapNoGPU, "Docker out of the snap did not set up its GPU support when it started.", []remedy{
		{Snap, snapRestart + again},
		{Snap, "if that does not help: sudo snap refresh docker, and sudo snap unset docker nvidia-support.disabled"},
		{Snap, "or use Docker's own packages in place of the snap: https://docs.docker.com/engine/install"}}},
	{NVIDIA, SupportOff, "Docker can't reach the GPU: the engine has no GPU support turned on.", []remedy{
		{Desktop, "Docker Desktop > Settings > Resources > Advanced > Enable GPU support" + again},
		{Desktop, "where there is no such switch: Docker Desktop > Settings > General > Use the WSL 2 based engine" + again},
		{Windows, "in a Windows terminal: wsl --update" + again}}},
	{NVIDIA, ToolkitBroken, "{engine} is set up for NVIDIA's container toolkit, but the toolkit's programs are not there.", []remedy{
		{Linux | Native, "{toolkit}, then sudo systemctl restart docker" + again},
		{Windows | Native, "{toolkit}, then sudo service docker restart" + again},
		{Rootless, "{toolkit}, then systemctl --user restart docker" + again},
		{Podman, "{toolkit}" + again},
		{Snap, "sudo snap refresh docker && " + snapRestart + again},
		{Desktop, "restart Docker Desktop; if that does not help, update it" + again}}},
	{NVIDIA, ToolkitOld, "NVIDIA's container toolkit is too old for the control groups of this system.", []remedy{
		{Native | Rootless | Podman, "{toolkit} in its current version" + again},
		{Snap, "sudo snap refresh docker" + again},
		{Desktop, "update Docker Desktop" + again}}},
	{NVIDIA, ToolkitMode, "NVIDIA's container toolkit is set to a mode that does not answer to the engine's way of asking for GPUs.", []remedy{
		{Native, "sudo nvidia-ctk config --set nvidia-container-runtime.mode=auto --in-place && sudo systemctl restart docker" + again},
		{Rootless, "sudo nvidia-ctk config --set nvidia-container-runtime.mode=auto --in-place && systemctl --user restart docker" + again},
		{Snap, snapRestart + again}}},
	{NVIDIA, ToolkitLinker, "NVIDIA's container toolkit looks for ldconfig in a place where this system does not have it.", []remedy{
		{Native | Rootless | Podman, "sudo nvidia-ctk config --set nvidia-container-cli.ldconfig=@/sbin/ldconfig --in-place" + again},
		{Snap, "sudo snap refresh docker" + again}}},
	{NVIDIA, Cgroups, "NVIDIA's container toolkit may not change the control groups of containers here.", []remedy{
		{Rootless, noCgroups + " && systemctl --user restart docker" + again},
		{Native, noCgroups + " && sudo systemctl restart docker" + again},
		{Podman, noCgroups + again},
		{Rootless | Native | Podman, "if no-cgroups is set already, update the toolkit: version 1.18.0 does not heed it"}}},
	{NVIDIA, NoAdapters, "WSL2 shows the engine no NVIDIA GPU.", []remedy{
		{Windows, "in a Windows terminal: wsl --update, then wsl --shutdown; start the engine again" + again},
		{Windows, "install the current NVIDIA driver for Windows (" + driverPage + ") and restart Windows" + again}}},
	{NVIDIA, Blocked, "Windows does not let WSL2 use the GPU.", []remedy{
		{Windows, "in a Windows terminal: wsl --update, then wsl --shutdown; start the engine again" + again},
		{Windows, "install the current NVIDIA driver for Windows (" + driverPage + ") and restart Windows" + again},
		{Windows, "a GPU for servers has to be in WDDM mode: as administrator nvidia-smi -fdm 0, then restart Windows"}}},
	{AMD | Intel, CDIMissing, "{engine} knows no CDI device {device}.", []remedy{
		{0, withoutSpec}}},
	{AMD | Intel, CDIStale, "The description of the {vendor} GPU that {engine} uses (its CDI spec) names files which are not there.", []remedy{
		{0, withoutSpec}}},
	{NVIDIA, CDIMissing, "{engine} knows no CDI device {device}.", []remedy{
		{Native | Podman, cdiGenerate + again},
		{Rootless, cdiGenerate + " && systemctl --user restart docker" + again},
		{Snap, snapRestart + again},
		{Desktop, "restart Docker Desktop" + again}}},
	{NVIDIA, CDIStale, "The description of the GPU that {engine} uses (its CDI spec) names files which are not there: it is older than the driver.", []remedy{
		{Native | Podman, cdiGenerate + again},
		{Rootless, cdiGenerate + " && systemctl --user restart docker" + again},
		{Snap, snapRestart + again},
		{Desktop, "restart Docker Desktop" + again}}},
	{all, CDIOff, "{engine} does not take CDI devices.", []remedy{
		{Native, "update Docker to version 28.2 or later; or add \"cdi\": true under \"features\" in /etc/docker/daemon.json and restart it" + again},
		{Rootless, "update Docker to version 28.2 or later; or add \"cdi\": true under \"features\" in ~/.config/docker/daemon.json and systemctl --user restart docker" + again},
		{Snap, "sudo snap refresh docker" + again},
		{Desktop, "Docker Desktop > Settings > Docker Engine: add \"cdi\": true under \"features\"" + again}}},
	{all, Denied, "Containers of this engine may not open {node}.", []remedy{
		{Linux | Rootless, "let your user open it, until the next start: sudo setfacl -m u:$USER:rw {node}" + again},
		{Linux | Native | Podman, "where SELinux is on: sudo setsebool -P container_use_devices on" + again},
		{Linux | Native, "sudo dmesg | grep -i denied shows what forbade it"},
		{Linux | Snap, "the snap may not use it: use Docker's own packages, https://docs.docker.com/engine/install"}}},
	{all, TimedOut, "{what} did not end in time.", []remedy{
		{0, "run rigup install again: the machine may have been busy"},
		{Linux, "{quicker}"},
		{Windows, "in a Windows terminal: wsl --shutdown, then start the engine again" + again}}},
}
