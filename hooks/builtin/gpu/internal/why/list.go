package why

const all = NVIDIA | AMD | Intel

// again ends a remedy after which rigup has to look once more.
const again = ", then: rigup install"

// newNode is for what is wrong inside of the cluster's node and goes away with a new one.
const newNode = "rigup install --recreate makes the cluster's node anew; data and everything in the cluster stay"

// docs of the vendors, where no single command fits.
const (
	toolkitDocs = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html"
	driverPage  = "https://www.nvidia.com/drivers"
)

// machine, engine and use are the closed list: what is wrong with the machine, with the engine, and with the use of a
// GPU. A test holds that each is provoked by a machine of the corpus, or by the raw text of a failure.
var machine = []cause{
	{all, NoDXG, "Windows does not show WSL2 its GPU: the device /dev/dxg is not there.", []remedy{
		{Windows, "in a Windows terminal: wsl --update, then wsl --shutdown; start the engine again" + again},
		{Windows, "install the current {vendor} driver for Windows and restart Windows" + again}}},
	{all, Reserved, "The {vendor} GPU is set aside for virtual machines: the system has bound it to {driver}.", []remedy{
		{Linux, "to use it here, take it out of the {driver} settings (kernel command line and /etc/modprobe.d) and reboot" + again},
		{Linux, "to use it where it is, run rigup in the virtual machine that has it"}}},
	{all, NotFound, "No {vendor} GPU was found on this machine.", []remedy{
		{0, "if it has one, look at what rigup sees: rigup facts"}}},
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
		{0, "use images with CUDA 11.4 or earlier"}}},
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
		{0, "for some programs it helps to set HSA_OVERRIDE_GFX_VERSION to the next similar GPU, for example 10.3.0 or 11.0.0"}}},
	{NVIDIA | AMD, TooOldGPU, "This {vendor} GPU is too old to compute in containers.", []remedy{
		{0, "jobs run on the CPU here; training needs a GPU of 2017 or later"}}},
	{Intel, OtherDriverLeft, "The Intel GPUs of this machine have two different drivers; only those with {driver} are used.", []remedy{
		{Linux, "to use them all, let one driver run them: i915.force_probe and xe.force_probe on the kernel command line choose"}}},
	{NVIDIA, Jetson, "This is an NVIDIA Jetson: its GPU is a part of the chip, and rigup cannot hand it to a cluster.", []remedy{
		{Linux, "single containers can have it: docker run --runtime nvidia; rigup's cluster here runs on the CPU"}}},
	{NVIDIA, MIGMixed, "Some of the GPUs are cut into slices (MIG) and others are whole: a job that asks for one gets either.", []remedy{
		{Linux, "make them all whole with sudo nvidia-smi -mig 0, or cut them all: sudo nvidia-smi mig -lgip shows how"}}},
}
