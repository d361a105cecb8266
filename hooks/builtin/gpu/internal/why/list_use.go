package why

var use = []cause{
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
		{0, "end what else uses the GPU ({list} shows it)" + again},
		{Windows, "programs of Windows use it too: close games, browsers and editors"}}},
	{all, Fault, "The {vendor} GPU reported a fault.", []remedy{
		{Linux, "reboot" + again},
		{Linux, "if it comes back, sudo dmesg | grep {log} has the details for its maker"},
		{Windows, "restart Windows" + again}}},
	{all, NotInImage, "The image has no code for this {vendor} GPU.", []remedy{
		{0, "use an image that is built for this generation of GPUs"}}},

	// In the cluster.
	{all, NodeCDI, "The cluster's node could not describe its {vendor} GPU to pods.", []remedy{
		{0, "run rigup install again: the node looks anew each time it starts"},
		{0, newNode}}},
	{all, NotAdvertised, "The cluster's node does not offer {resource}.", []remedy{
		{0, "run rigup install again: the node offers its GPUs anew each time it starts"},
		{0, newNode}}},
	{all, NoneFree, "No {resource} is free in the cluster.", []remedy{
		{0, "kubectl get pods -A shows what runs; end what uses the GPU" + again},
		{0, "if nothing uses it, the node does not offer it: " + newNode}}},
	{all, Admission, "The cluster's node refused the pod, because it offered its GPUs only afterwards.", []remedy{
		{0, "run rigup install again"}}},
	{all, Unhealthy, "The cluster's node sees its {vendor} GPU, but takes it for broken.", []remedy{
		{0, "run rigup install again: the node looks anew each time it starts"},
		{0, newNode}}},
	{NVIDIA, NoRuntimeClass, "The pod asks for the runtime class nvidia, which the cluster's node does not have.", []remedy{
		{0, newNode}}},
}
