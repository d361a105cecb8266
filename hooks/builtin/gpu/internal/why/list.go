package why

const all = NVIDIA | AMD | Intel

// again ends a remedy after which rigup has to look once more.
const again = ", then: rigup install"

// newNode is for what is wrong inside of the cluster's node and goes away with a new one.
const newNode = "rigup install --recreate makes the cluster's node anew; data and everything in the cluster stay"

// driverPage is where NVIDIA's drivers are.
const driverPage = "https://www.nvidia.com/drivers"

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

// causes is the closed list. A test holds that each is provoked by a machine of the corpus, or by the raw text of a
// failure.
var causes = []cause{
	// The machine and its driver.
	{all, NoDXG, "Windows does not show WSL2 its GPU: the device /dev/dxg is not there.", []remedy{
		{Windows, "in a Windows terminal: wsl --update, then wsl --shutdown; start the engine again" + again},
		{Windows, "install the current {vendor} driver for Windows and restart Windows" + again}}},
	{all, Reserved, "The {vendor} GPU is set aside for virtual machines: the system has bound it to {driver}.", []remedy{
		{Linux, "to use it here, take it out of the {driver} settings (kernel command line and /etc/modprobe.d) and reboot" + again},
		{Linux, "to use it where it is, run rigup in the virtual machine that has it"}}},
	{all, NotFound, "No {vendor} GPU was found on this machine.", []remedy{
		{Anywhere, "if it has one, look at what rigup sees: rigup facts"}}},
	{NVIDIA, NoWay, "{engine} has none of the ways in which NVIDIA GPUs are handed to containers.", []remedy{
		{Native | Rootless | Podman, "{toolkit}" + again},
		{Elsewhere, "use Docker Engine on the system itself (https://docs.docker.com/engine/install) or, on Windows, Docker Desktop"}}},
	{AMD, DesktopNo, "{engine} cannot hand AMD GPUs to containers on Windows.", []remedy{
		{Windows, "use Docker Engine inside of an Ubuntu distribution of WSL2 instead, and run rigup there"},
		{Windows, "or start Linux on this machine: there AMD GPUs are supported"}}},
	{NVIDIA, DriverMissing, "The NVIDIA driver is not installed.", []remedy{
		{Linux, "{install}, then reboot and run: rigup install"},
		{Windows, "install the NVIDIA driver for Windows (" + driverPage + ") and restart Windows" + again}}},
	{AMD, DriverMissing, "No driver runs the AMD GPU: the kernel module amdgpu is not loaded for it.", []remedy{
		{Linux, "sudo modprobe amdgpu" + again},
		{Linux, "if there is no such module, or the GPU is newer than this system: {install}"},
		{Windows, "install the AMD driver for Windows (https://www.amd.com/support) and restart Windows" + again}}},
	{Intel, DriverMissing, "No driver runs the Intel GPU: neither of the kernel modules i915 and xe is loaded for it.", []remedy{
		{Linux, "sudo modprobe {module}" + again},
		{Linux, "if the module does not take the GPU, the kernel {kernel} is older than the GPU: update the system to a newer kernel"},
		{Windows, "install the Intel graphics driver for Windows (https://www.intel.com/content/www/us/en/download-center/home.html) and restart Windows" + again}}},
	{NVIDIA, WrongDriver, "The NVIDIA GPU is run by the driver {driver}, which cannot run CUDA.", []remedy{
		{Linux, "{install}, then reboot and run: rigup install"},
		{Linux, "the NVIDIA driver is {installed}: reboot, so that it takes the GPU over from {driver}" + again}}},
	{AMD, WrongDriver, "The AMD GPU is run by the driver {driver}, which cannot compute.", []remedy{
		{Linux, "add amdgpu.si_support=1 amdgpu.cik_support=1 radeon.si_support=0 radeon.cik_support=0 to the kernel command line and reboot; very old GPUs stay without"}}},
	{NVIDIA, NotLoaded, "The NVIDIA driver is installed, but it is not loaded.", []remedy{
		{Linux, "sudo modprobe nvidia" + again},
		{Linux, "if that says that the key was rejected, Secure Boot refuses the module: sign it, or turn Secure Boot off"},
		{Linux, "if there is no module for the kernel {kernel}: install that kernel's headers, sudo dkms autoinstall, and reboot"},
		{Windows, "in a Windows terminal: wsl --shutdown, then start the engine again" + again}}},
	{NVIDIA, NotDriven, "The NVIDIA driver {version} is loaded, but it does not run this GPU.", []remedy{
		{Linux, "sudo dmesg | grep NVRM says why: older GPUs need an older driver, the newest ones need its open kernel modules (" + driverPage + ")"}}},
	{NVIDIA, NotStarted, "The NVIDIA driver is loaded, but it could not start the GPU.", []remedy{
		{Linux, "sudo dmesg | grep NVRM says why; after a crash of the GPU a reboot helps"},
		{Windows, "restart Windows" + again}}},
	{NVIDIA, Mismatch, "The NVIDIA driver was updated while its old version was running: kernel module and libraries do not fit together.", []remedy{
		{Linux, "reboot" + again},
		{Linux, "if it is the same after that, the driver was updated only in part: {install}"},
		{Windows | Desktop, "in a Windows terminal: wsl --shutdown, then start the engine again" + again},
		{Windows | Native | Rootless | Podman, "remove the Linux packages of the NVIDIA driver from this distribution: with WSL2 only Windows needs one"}}},
	{NVIDIA, TooOld, "The NVIDIA driver {version} is too old for containers, which need {floor} or later.", []remedy{
		{Linux, "{install}, then reboot and run: rigup install"},
		{Windows, "install the current NVIDIA driver for Windows (" + driverPage + ")" + again}}},
	{NVIDIA, Old, "The NVIDIA driver {version} is older than what images with CUDA 12 expect ({floor}): such jobs may refuse to start.", []remedy{
		{Linux, "{install}, then reboot"},
		{Windows, "install the current NVIDIA driver for Windows (" + driverPage + ")"}}},
	{NVIDIA, NoLibraries, "The NVIDIA driver is loaded, but its libraries are missing.", []remedy{
		{Linux | Native | Rootless | Podman, "{install}" + again},
		{Linux | Snap, snapRestart + ": it looks for the driver's libraries when it starts" + again},
		{Linux | Snap, "it finds only a driver from Ubuntu's own packages: {install}"}}},
	{NVIDIA, NoWSLLibraries, "The NVIDIA driver of Windows brings no libraries into WSL2: it is too old for that, or not complete.", []remedy{
		{Windows, "install the current NVIDIA driver for Windows (" + driverPage + "), then in a Windows terminal: wsl --shutdown" + again}}},
	{NVIDIA, OldGPU, "This NVIDIA GPU is from before 2014: no driver after {version} runs it, and no image with CUDA 12 or later runs on it.", []remedy{
		{Anywhere, "use images with CUDA 11.4 or earlier"}}},
	{NVIDIA, LinuxInWSL, "An NVIDIA driver for Linux is installed in this WSL distribution; it hides the one that Windows brings.", []remedy{
		{Windows, "remove its packages (libnvidia-compute, libcuda1, nvidia-driver): with WSL2 only Windows needs a driver"}}},
	{NVIDIA, NodesMissing, "The NVIDIA driver is loaded, but its device nodes are missing from /dev.", []remedy{
		{Linux, "sudo nvidia-modprobe -u -c 0" + again},
		{Linux, "so that they are there after each start: sudo systemctl enable --now nvidia-persistenced"}}},
	{AMD | Intel, NodesMissing, "The {vendor} GPU has no render node in /dev/dri.", []remedy{
		{Linux, "sudo modprobe {module}; if the GPU still has none, sudo dmesg | grep {module} says why" + again},
		{Linux, "on cloud and minimal kernels the driver is a package of its own (Ubuntu: linux-modules-extra-{kernel})"}}},
	{AMD | Intel, NodesUnknown, "The {vendor} GPU is there, but its device nodes could not be seen.", []remedy{
		{Linux, "run rigup on the machine itself, as a user who may read /sys/bus/pci and /dev"}}},
	{AMD, NoKFD, "The AMD GPU is there, but the kernel offers no computing on it: the device /dev/kfd is missing.", []remedy{
		{Linux, "sudo modprobe amdgpu" + again},
		{Linux, "if it stays away, this kernel is built without it (CONFIG_HSA_AMD), or it does not know this GPU: {install}"}}},
	{AMD, KFDRefuses, "The kernel cannot compute on this AMD GPU.", []remedy{
		{Linux, "sudo dmesg | grep kfd says why: GPUs of the generation before Vega need an older system, the newest ones a newer kernel"}}},
	{AMD, Unofficial, "AMD does not support ROCm on every GPU, and {model} is not among those that it names: programs may refuse it.", []remedy{
		{Anywhere, "for some programs it helps to set HSA_OVERRIDE_GFX_VERSION to the next similar GPU, for example 10.3.0 or 11.0.0"}}},
	{NVIDIA | AMD, TooOldGPU, "This {vendor} GPU is too old to compute in containers.", []remedy{
		{Anywhere, "jobs run on the CPU here; training needs a GPU of 2017 or later"}}},
	{Intel, OtherDriverLeft, "The Intel GPUs of this machine have two different drivers; only those with {driver} are used.", []remedy{
		{Linux, "to use them all, let one driver run them: i915.force_probe and xe.force_probe on the kernel command line choose"}}},
	{NVIDIA, Jetson, "This is an NVIDIA Jetson: its GPU is a part of the chip, and rigup cannot hand it to a cluster.", []remedy{
		{Linux, "single containers can have it: docker run --runtime nvidia; rigup's cluster here runs on the CPU"}}},
	{NVIDIA, MIGMixed, "Some of the GPUs are cut into slices (MIG) and others are whole: a job that asks for one gets either.", []remedy{
		{Linux, "make them all whole with sudo nvidia-smi -mig 0, or cut them all: sudo nvidia-smi mig -lgip shows how"}}},

	// The engine.
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
		{Anywhere, withoutSpec}}},
	{AMD | Intel, CDIStale, "The description of the {vendor} GPU that {engine} uses (its CDI spec) names files which are not there.", []remedy{
		{Anywhere, withoutSpec}}},
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
		{Anywhere, "run rigup install again: the machine may have been busy"},
		{Linux, "{quicker}"},
		{Windows, "in a Windows terminal: wsl --shutdown, then start the engine again" + again}}},

	// In a container.
	{NVIDIA, NotInjected, "The container got the GPU without NVIDIA's libraries.", []remedy{
		{Linux | Native, configureNative + again},
		{Linux | Rootless, configureRootless + again},
		{Linux | Snap, snapRestart + again},
		{Windows, "install the current NVIDIA driver for Windows (" + driverPage + "), then wsl --shutdown" + again}}},
	{NVIDIA, NoDXCore, "The container lacks libdxcore.so, through which programs reach the GPU on WSL2.", []remedy{
		{Windows, "in a Windows terminal: wsl --update, then wsl --shutdown; start the engine again" + again}}},
	{NVIDIA, NoDevice, "CUDA finds no GPU in the container, although it was handed over.", []remedy{
		{Linux, "nvidia-smi shows whether the driver has the GPU; if not, sudo dmesg | grep NVRM says why"},
		{Linux, "where nvidia-smi shows MIG as enabled without slices: sudo nvidia-smi -mig 0" + again},
		{Windows, "in a Windows terminal: wsl --update, then wsl --shutdown; start the engine again" + again}}},
	{AMD, NoDevice, "Programs find no GPU in the container, although it was handed over.", []remedy{
		{Linux, "sudo dmesg | grep -e amdgpu -e kfd says whether the kernel can compute on it"}}},
	{Intel, NoDevice, "Programs find no GPU in the container, although it was handed over.", []remedy{
		{Linux, "sudo dmesg | grep {module} says whether the driver started the GPU"},
		{Windows, "install the current Intel graphics driver for Windows, then wsl --shutdown" + again}}},
	{NVIDIA, NeedsNewer, "The image needs a newer NVIDIA driver than the one that is installed.", []remedy{
		{Linux, "{install}, then reboot and run: rigup install"},
		{Windows, "install the current NVIDIA driver for Windows (" + driverPage + ")" + again}}},
	{NVIDIA, Compat, "The image brings CUDA libraries of its own for a newer driver, which works on GPUs for servers only.", []remedy{
		{Linux, "{install}, then reboot and run: rigup install"},
		{Windows, "install the current NVIDIA driver for Windows (" + driverPage + ")" + again}}},
	{NVIDIA, AccessLost, "The container lost its access to the GPU.", []remedy{
		{Native, "sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups=false --in-place && sudo systemctl restart docker" + again},
		{Rootless, "systemctl --user restart docker" + again},
		{Snap, snapRestart + again},
		{Podman, cdiGenerate + again},
		{Windows, "in a Windows terminal: wsl --shutdown, then start the engine again" + again}}},
	{NVIDIA, Fabric, "The GPUs of this server wait for NVIDIA's fabric manager, which connects them.", []remedy{
		{Linux, "sudo systemctl enable --now nvidia-fabricmanager" + again},
		{Linux, "if it is not installed: it has to have the version of the driver (Ubuntu: nvidia-fabricmanager-{major})"}}},
	{NVIDIA, Busy, "Another program has the GPU for itself.", []remedy{
		{Linux, "nvidia-smi shows which: end it, or let them share it with sudo nvidia-smi -c DEFAULT" + again},
		{Windows, "end the program that uses it (nvidia-smi in a Windows terminal shows which)" + again}}},
	{NVIDIA, CUDAUnknown, "CUDA could not start, and does not say why.", []remedy{
		{Linux, "after sleep a part of the driver can hang: sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm" + again},
		{Linux, "reboot" + again},
		{Windows, "in a Windows terminal: wsl --shutdown, then start the engine again" + again}}},
	{all, MemoryFull, "The memory of the {vendor} GPU is full.", []remedy{
		{Anywhere, "end what else uses the GPU ({list} shows it)" + again},
		{Windows, "programs of Windows use it too: close games, browsers and editors"}}},
	{all, Fault, "The {vendor} GPU reported a fault.", []remedy{
		{Linux, "reboot" + again},
		{Linux, "if it comes back, sudo dmesg | grep {log} has the details for its maker"},
		{Windows, "restart Windows" + again}}},
	{all, NotInImage, "The image has no code for this {vendor} GPU.", []remedy{
		{Anywhere, "use an image that is built for this generation of GPUs"}}},

	// In the cluster.
	{all, NodeCDI, "The cluster's node could not describe its {vendor} GPU to pods.", []remedy{
		{Anywhere, "run rigup install again: the node looks anew each time it starts"},
		{Anywhere, newNode}}},
	{all, NotAdvertised, "The cluster's node does not offer {resource}.", []remedy{
		{Anywhere, "run rigup install again: the node offers its GPUs anew each time it starts"},
		{Anywhere, newNode}}},
	{all, NoneFree, "No {resource} is free in the cluster.", []remedy{
		{Anywhere, "kubectl get pods -A shows what runs; end what uses the GPU" + again},
		{Anywhere, "if nothing uses it, the node does not offer it: " + newNode}}},
	{all, Admission, "The cluster's node refused the pod, because it offered its GPUs only afterwards.", []remedy{
		{Anywhere, "run rigup install again"}}},
	{all, Unhealthy, "The cluster's node sees its {vendor} GPU, but takes it for broken.", []remedy{
		{Anywhere, "run rigup install again: the node looks anew each time it starts"},
		{Anywhere, newNode}}},
	{NVIDIA, NoRuntimeClass, "The pod asks for the runtime class nvidia, which the cluster's node does not have.", []remedy{
		{Anywhere, newNode}}},
}
