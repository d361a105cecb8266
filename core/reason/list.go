package reason

// entry is one reason: its sentence, its remedies (most useful first; {name} is filled in), its exit code (0: 1).
type entry struct {
	text   string
	remedy []string
	exit   int
}

// The ids, by area.
const (
	Internal    ID = "internal"
	Interrupted ID = "run.interrupted"
	RunTimeout  ID = "run.timeout"

	UsageValue  ID = "usage.value"
	UsageConfig ID = "usage.config"
	UsageWord   ID = "usage.unknown"
	UsageNeeds  ID = "usage.needs"

	AssetsDamaged ID = "assets.damaged"

	EngineUnreachable ID = "engine.unreachable"
	EngineDenied      ID = "engine.permission"
	EngineTooOld      ID = "engine.too-old"
	EngineTooNew      ID = "engine.too-new"
	EngineRemote      ID = "engine.remote"
	EngineNotLinux    ID = "engine.not-linux"
	EngineArch        ID = "engine.architecture"
	EngineTimeout     ID = "engine.timeout"
	EngineFailed      ID = "engine.failed"

	MachineDisk      ID = "machine.disk"
	MachineDiskLow   ID = "machine.disk-low"
	MachineMemory    ID = "machine.memory"
	MachineMemoryLow ID = "machine.memory-low"
	MachineCPU       ID = "machine.cpu"
	MachinePorts     ID = "machine.ports"
	MachineInotify   ID = "machine.inotify"
	MachineCgroup1   ID = "machine.cgroup-v1"

	DataPlace   ID = "data.place"
	DataNetwork ID = "data.network-filesystem"
	DataAccess  ID = "data.access"

	LockHeld  ID = "lock.held"
	LockStale ID = "lock.stale"

	StateDamaged ID = "state.damaged"
	StateNewer   ID = "state.newer"
	StateWrite   ID = "state.write"

	ImagePull       ID = "image.pull"
	ImageNotFound   ID = "image.not-found"
	ImageDenied     ID = "image.denied"
	ImageRateLimit  ID = "image.rate-limit"
	ImageUntrusted  ID = "image.untrusted-ca"
	ImageNetwork    ID = "image.network"
	ImageDisk       ID = "image.disk"
	ImageTimeout    ID = "image.timeout"
	ImageLoad       ID = "image.load"
	ImageMovingTag  ID = "image.moving-tag"
	ImageNotPresent ID = "image.not-present"
	ImagePlatform   ID = "image.platform"

	ClusterForeign    ID = "cluster.foreign"
	ClusterUnknown    ID = "cluster.unknown"
	ClusterDiffers    ID = "cluster.differs"
	ClusterDrift      ID = "cluster.drift"
	ClusterNotReady   ID = "cluster.not-ready"
	ClusterCrashed    ID = "cluster.crashed"
	ClusterMissing    ID = "cluster.missing"
	ClusterStopped    ID = "cluster.stopped"
	ClusterNoSubnet   ID = "cluster.no-subnet"
	ClusterPartLeft   ID = "cluster.part-left"
	KubeUnreachable   ID = "kube.unreachable"
	KubeRefused       ID = "kube.refused"
	KubeconfigWrite   ID = "kubeconfig.write"
	KubeconfigInvalid ID = "kubeconfig.invalid"
	KubeTimeout       ID = "kube.timeout"
	KubeOther         ID = "kube.other-cluster"
	KubeconfigForeign ID = "kubeconfig.foreign"
	KubeconfigLocked  ID = "kubeconfig.locked"
	KubeconfigStale   ID = "kubeconfig.stale-lock"

	ChartNotFound   ID = "chart.not-found"
	ChartInvalid    ID = "chart.invalid"
	ChartRender     ID = "chart.render"
	ChartValues     ID = "chart.values"
	ChartContract   ID = "chart.contract"
	ChartInstall    ID = "chart.install"
	ChartTimeout    ID = "chart.timeout"
	ReleaseStuck    ID = "release.stuck"
	ReleaseForeign  ID = "release.foreign"
	ReleaseFailed   ID = "release.failed"
	ReleaseNotFound ID = "release.not-found"
	ReleaseUnknown  ID = "release.unknown"

	WorkloadStarting    ID = "workload.starting"
	WorkloadImage       ID = "workload.image"
	WorkloadImageDenied ID = "workload.image-denied"
	WorkloadUntrusted   ID = "workload.untrusted-ca"
	WorkloadCrash       ID = "workload.crash"
	WorkloadUnscheduled ID = "workload.unschedulable"
	WorkloadDiskFull    ID = "workload.disk-pressure"
	WorkloadData        ID = "workload.data-not-writable"
	WorkloadNotFound    ID = "workload.image-not-found"
	WorkloadNetwork     ID = "workload.image-network"
	WorkloadRateLimit   ID = "workload.image-rate-limit"
	WorkloadConfig      ID = "workload.config"
	WorkloadVolume      ID = "workload.volume"
	WorkloadNotCreated  ID = "workload.not-created"
	WorkloadMemory      ID = "workload.memory"

	GPUNotChecked ID = "gpu.not-checked"
	GPUNone       ID = "gpu.none"
	GPUOff        ID = "gpu.off"
	GPUUnknown    ID = "gpu.unknown"
	GPUNotInUse   ID = "gpu.not-supported-yet"
	GPUClusterCPU ID = "gpu.cluster-cpu-only"
	GPURequired   ID = "gpu.required"
	GPUNoHook     ID = "gpu.no-hook"
	GPUHookFailed ID = "gpu.hook-failed"

	EnvironmentBlocked ID = "environment.blocked"
	HookFailed         ID = "hook.failed"
	HookBeyond         ID = "hook.beyond-permissions"

	HookPending       ID = "hook.pending"
	HookApproval      ID = "hook.approval"
	HookChanged       ID = "hook.changed"
	HookGrant         ID = "hook.permissions"
	HookMissing       ID = "hook.missing"
	HookCopy          ID = "hook.copy"
	HookInvalid       ID = "hook.invalid"
	HookFile          ID = "hook.file"
	HookUnsigned      ID = "hook.unsigned"
	HookSignature     ID = "hook.signature"
	HookSignatureGone ID = "hook.signature-gone"
	HookKey           ID = "hook.key"
	HookKeyUnknown    ID = "hook.key-unknown"
	HookDowngrade     ID = "hook.downgrade"
	HookNotFound      ID = "hook.not-found"
	HookSeveral       ID = "hook.several"
	HookInProgram     ID = "hook.built-in"
	HookFetch         ID = "hook.fetch"
	HookPush          ID = "hook.push"
	HookDenied        ID = "hook.denied"
	HookLockDamaged   ID = "hook.lock-damaged"
	HookFolder        ID = "hook.folder"
	HookCrowded       ID = "hook.crowded"
	HookWritable      ID = "hook.writable"
	HookBusy          ID = "hook.busy"
)

// list is the one list. A test holds that every id above stands here once, and that every entry can be shown.
var list = map[ID]entry{
	Internal:    {text: "rigup met {what}.", remedy: []string{"run the same command with --verbose and report the log it names"}},
	Interrupted: {text: "The run was interrupted.", remedy: []string{"run the same command again: it continues where it stopped"}, exit: ExitInterrupted},

	RunTimeout: {text: "The run took longer than its time limit (--timeout).", remedy: []string{"run the same command again: it continues where it stopped", "allow more with --timeout"}},

	UsageValue:  {text: "{flag} cannot be {value}: {allowed}.", exit: ExitUsage},
	UsageConfig: {text: "The configuration file {file} has a mistake: {what}.", exit: ExitUsage},
	UsageWord:   {text: "{command} does not know {word}.", remedy: []string{"did you mean {nearest}?"}, exit: ExitUsage},
	UsageNeeds:  {text: "{command} needs {what}.", exit: ExitUsage},

	AssetsDamaged: {text: "This rigup is damaged: files that it carries are not as they were built.", remedy: []string{"download rigup again"}},

	EngineUnreachable: {text: "No Docker engine answers on this machine.", remedy: []string{"{start}", "if the engine listens elsewhere: rigup install --engine {place}"}, exit: ExitUsage},
	EngineDenied:      {text: "This user may not talk to the Docker engine at {endpoint}.", remedy: []string{"{grant}"}, exit: ExitUsage},
	EngineTooOld:      {text: "The Docker engine speaks API {engine}, but rigup needs {needed} or later.", remedy: []string{"update Docker to version 20.10 or later, then run the same command again"}, exit: ExitUsage},
	EngineTooNew:      {text: "The Docker engine needs API {needed} or later, but this rigup speaks {client} at most.", remedy: []string{"update rigup"}, exit: ExitUsage},
	EngineRemote:      {text: "The Docker engine at {endpoint} is on another machine; rigup sets up the machine it runs on.", remedy: []string{"run rigup on that machine", "to use the engine of this machine: unset DOCKER_HOST and DOCKER_CONTEXT, or pass --engine"}, exit: ExitUsage},
	EngineNotLinux:    {text: "The Docker engine runs {os} containers; the cluster needs Linux containers.", remedy: []string{"in Docker Desktop's menu choose Switch to Linux containers, then run the same command again"}, exit: ExitUsage},
	EngineArch:        {text: "The Docker engine is {engine}, but this rigup is built for {program}.", remedy: []string{"download the rigup executable for {engine}"}, exit: ExitUsage},
	EngineTimeout:     {text: "The Docker engine did not answer within {limit} while rigup tried to {what}.", remedy: []string{"check that the engine is healthy (docker info), then run the same command again"}},
	EngineFailed:      {text: "The Docker engine refused to {what}.", remedy: []string{"read the engine's message below, then run the same command again"}},

	MachineDisk:      {text: "{place} has {free} free; the cluster needs {needed}.", remedy: []string{"free some space there: docker system df shows what Docker itself holds", "then run the same command again"}, exit: ExitUsage},
	MachineDiskLow:   {text: "{place} has only {free} free; {wanted} is advised.", remedy: []string{"free some space before training jobs fill it"}},
	MachineMemory:    {text: "The engine has {have} of memory; the cluster needs {needed}.", remedy: []string{"{grow}"}, exit: ExitUsage},
	MachineMemoryLow: {text: "The engine has {have} of memory; {wanted} is advised.", remedy: []string{"{grow}"}},
	MachineCPU:       {text: "The engine has {have} CPU; {wanted} are advised.", remedy: []string{"give the engine more CPUs if jobs are slow"}},
	MachinePorts:     {text: "None of the ports {range} on 127.0.0.1 is free for the cluster's API.", remedy: []string{"choose others: rigup install --api-port FIRST-LAST", "or stop the program that holds them"}, exit: ExitUsage},
	MachineInotify:   {text: "The kernel allows only {have} file watches for each user; the cluster needs {needed}.", remedy: []string{"sudo sysctl fs.inotify.max_user_watches={needed} fs.inotify.max_user_instances=512"}},
	MachineCgroup1:   {text: "The engine uses cgroup v1, which Kubernetes is giving up.", remedy: []string{"it works today; move this machine to cgroup v2 when you can"}},

	DataPlace:   {text: "{path} cannot be the data directory: {why}.", remedy: []string{"choose a directory below your home: rigup install --data-dir {suggest}"}, exit: ExitUsage},
	DataNetwork: {text: "{path} is on a network file system ({fs}), where databases and containers lose data.", remedy: []string{"choose a directory on a local disk: rigup install --data-dir DIR"}, exit: ExitUsage},
	DataAccess:  {text: "rigup cannot write to {path}.", remedy: []string{"make it writable for this user, or choose another: rigup install --data-dir DIR"}, exit: ExitUsage},

	LockHeld:  {text: "Another rigup works on cluster {cluster}: {holder}, since {age}.", remedy: []string{"wait for it to end, then run the same command again"}, exit: ExitUsage},
	LockStale: {text: "A rigup that worked on cluster {cluster} ended without cleaning up: {holder}, {age} ago. This run takes over."},

	StateDamaged: {text: "The state file was damaged. It is kept as {kept}, and was rebuilt from what the engine and the cluster say."},
	StateNewer:   {text: "The state file {path} was written by a newer rigup (format {have}, this one knows {known}).", remedy: []string{"use the newer rigup: it knows how to manage this cluster"}, exit: ExitUsage},
	StateWrite:   {text: "rigup cannot write its state to {path}.", remedy: []string{"make that folder writable and leave some space on its disk, then run the same command again"}},

	ImagePull:       {text: "The image {image} could not be pulled.", remedy: []string{"read the message below, then run the same command again"}},
	ImageNotFound:   {text: "The registry does not have the image {image}.", remedy: []string{"check that the mirror carries it: {mirror}", "check the name and tag"}},
	ImageDenied:     {text: "The registry {host} refused access to the image {image}.", remedy: []string{"docker login {host}", "check that this account may read that image"}},
	ImageRateLimit:  {text: "The registry {host} limits how often this network may pull.", remedy: []string{"docker login {host}, which raises the limit, or wait an hour, then run the same command again"}},
	ImageUntrusted:  {text: "The certificate of the registry {host} is not trusted here; a proxy of your network may be replacing it.", remedy: []string{"ask your IT for the CA certificate, add it to Docker's trusted certificates and pass it: rigup install --ca-file FILE"}},
	ImageNetwork:    {text: "The registry {host} cannot be reached from the engine.", remedy: []string{"check the network and the proxy settings of the Docker engine", "use a mirror that can be reached: rigup install --registry-mirror {host}=https://MIRROR"}},
	ImageDisk:       {text: "The engine's disk is full; the image {image} does not fit.", remedy: []string{"free some space: docker system prune removes what no container uses", "then run the same command again"}},
	ImageTimeout:    {text: "Pulling the image {image} made no progress for {limit}.", remedy: []string{"run the same command again: what was pulled is kept"}},
	ImageLoad:       {text: "The image {image} could not be loaded into the cluster.", remedy: []string{"run the same command again"}},
	ImageMovingTag:  {text: "{image} has no fixed version: {why}.", remedy: []string{"name a fixed tag or a digest"}, exit: ExitUsage},
	ImageNotPresent: {text: "The engine does not have the image {image}.", remedy: []string{"docker pull {image}, or docker build it, then run the same command again"}, exit: ExitUsage},
	ImagePlatform:   {text: "The image {image} is built for {have}, but the engine runs {want}.", remedy: []string{"docker image rm {image}, then run the same command again", "name an image that is built for {want}"}, exit: ExitUsage},

	ClusterForeign:    {text: "{kind} {name} exists and was not made by rigup, so it is left alone.", remedy: []string{"choose another name: rigup install --cluster NAME", "or remove it yourself if nobody needs it"}, exit: ExitUsage},
	ClusterUnknown:    {text: "rigup could not find out whether cluster {cluster} exists, so it changed nothing.", remedy: []string{"run the same command again when the engine answers"}},
	ClusterDiffers:    {text: "Cluster {cluster} was created with {have}, and you ask for {want}. That is fixed when a cluster is created.", remedy: []string{"rigup install --recreate {flags} rebuilds it and keeps your data and everything in the cluster"}, exit: ExitUsage},
	ClusterDrift:      {text: "Cluster {cluster} was created with {have}; this rigup would create it with {want}.", remedy: []string{"it keeps working; rigup install --recreate rebuilds it and keeps your data and everything in the cluster"}},
	ClusterNotReady:   {text: "The cluster did not become ready: {what}.", remedy: []string{"run the same command again: it continues where it stopped", "docker logs {node} shows what the node says"}},
	ClusterCrashed:    {text: "The node of cluster {cluster} stopped by itself.", remedy: []string{"docker logs {node} shows what it said last", "rigup install --recreate rebuilds it and keeps your data"}},
	ClusterMissing:    {text: "There is no cluster {cluster} on this engine.", remedy: []string{"rigup install --cluster {cluster}"}, exit: ExitUsage},
	ClusterStopped:    {text: "The cluster {cluster} is stopped.", remedy: []string{"rigup install --cluster {cluster} starts it"}},
	ClusterNoSubnet:   {text: "No private network range is free for the cluster: all candidates overlap routes of this machine.", remedy: []string{"choose one: rigup install --subnet 10.123.0.0/24"}, exit: ExitUsage},
	ClusterPartLeft:   {text: "{kind} {name} could not be removed.", remedy: []string{"run rigup uninstall again"}},
	KubeUnreachable:   {text: "The cluster's API does not answer at {address}.", remedy: []string{"rigup install starts or repairs it"}},
	KubeRefused:       {text: "The cluster refused to {what}.", remedy: []string{"read the message below, then run the same command again"}},
	KubeconfigWrite:   {text: "The kubeconfig {path} cannot be written.", remedy: []string{"make it writable, or choose another: rigup install --kubeconfig FILE"}, exit: ExitUsage},
	KubeTimeout:       {text: "The cluster's API at {address} did not answer within {limit}.", remedy: []string{"wait a moment and run the same command again: the machine may be busy", "docker logs {node} shows what the node says"}},
	KubeOther:         {text: "Another cluster or program answers at {address}: its certificate is not the one of this cluster.", remedy: []string{"stop the program that uses that port, then: rigup install", "if the kubeconfig is old: rigup kubeconfig writes a new one"}},
	KubeconfigForeign: {text: "The kubeconfig {path} has a {kind} {name} that rigup did not make, so it is left alone.", remedy: []string{"choose another name: rigup install --cluster NAME", "kubectl config delete-{kind} {name} removes it, if nobody needs it", "or another file: rigup install --kubeconfig FILE"}, exit: ExitUsage},
	KubeconfigLocked:  {text: "Another program is changing the kubeconfig {path} and did not finish within {limit}.", remedy: []string{"wait for it to end, then run the same command again", "if no program is: remove {lock}"}},
	KubeconfigStale:   {text: "The lock {lock} was left behind {age} ago by {holder} and was taken over."},
	KubeconfigInvalid: {text: "The kubeconfig {path} is damaged and was left as it is.", remedy: []string{"repair it, or choose another: rigup install --kubeconfig FILE"}, exit: ExitUsage},

	ChartNotFound:   {text: "There is no chart at {chart}.", remedy: []string{"check the path; --chart takes a directory, a .tgz file or an oci:// reference"}, exit: ExitUsage},
	ChartInvalid:    {text: "The chart {chart} cannot be read.", remedy: []string{"helm lint {chart} shows what is wrong with it"}, exit: ExitUsage},
	ChartRender:     {text: "The chart {chart} does not render with these values.", remedy: []string{"check --set and --values against the chart's values.yaml"}, exit: ExitUsage},
	ChartValues:     {text: "The chart {chart} does not accept these values.", remedy: []string{"correct the value named below in --set or --values"}, exit: ExitUsage},
	ChartContract:   {text: "The contract of chart {chart} has a mistake: {what}.", remedy: []string{"correct contract.yaml in the chart"}, exit: ExitUsage},
	ChartInstall:    {text: "The chart {chart} could not be installed.", remedy: []string{"read the message below, then run the same command again"}},
	ChartTimeout:    {text: "Installing the chart {chart} did not finish within {limit}.", remedy: []string{"run the same command again: it continues where it stopped"}},
	ReleaseStuck:    {text: "The release {release} was left {status} by a run that was cut off. It was recovered."},
	ReleaseForeign:  {text: "A release {release} exists in namespace {namespace} and was not made by rigup.", remedy: []string{"choose another: rigup install --namespace NAME"}, exit: ExitUsage},
	ReleaseFailed:   {text: "The release {release} is in state {status}.", remedy: []string{"rigup install repairs it"}},
	ReleaseNotFound: {text: "The workload is not installed in cluster {cluster}.", remedy: []string{"rigup install --cluster {cluster}"}},
	ReleaseUnknown:  {text: "The record of release {release} cannot be read, so nothing was changed.", remedy: []string{"kubectl -n {namespace} get secrets -l owner=helm,name={release} lists its records; delete the newest one if it is damaged, then run the same command again"}},

	WorkloadStarting:    {text: "{workload} is still starting after {limit}.", remedy: []string{"rigup status shows how far it is; run the same command again to wait longer"}},
	WorkloadImage:       {text: "{workload} cannot start: its image {image} cannot be pulled.", remedy: []string{"check the image's name and that the cluster reaches its registry", "an image that only this machine has: rigup install --load-image {image}"}},
	WorkloadImageDenied: {text: "{workload} cannot start: the registry refuses access to its image {image}.", remedy: []string{"docker login to that registry, then: rigup install --recreate"}},
	WorkloadUntrusted:   {text: "{workload} cannot start: the certificate of its image's registry is not trusted.", remedy: []string{"ask your IT for the CA certificate and pass it: rigup install --recreate --ca-file FILE"}},
	WorkloadCrash:       {text: "{workload} starts and ends again.", remedy: []string{"kubectl --context {context} -n {namespace} logs {logs} shows why"}},
	WorkloadUnscheduled: {text: "{workload} does not fit on this machine.", remedy: []string{"lower what it requests with --set, or give the engine more memory and CPUs"}},
	WorkloadDiskFull:    {text: "The cluster's disk is nearly full, so it starts nothing new.", remedy: []string{"free some space on the disk of the Docker engine; the cluster recovers by itself"}},
	WorkloadNotFound:    {text: "{workload} cannot start: no registry has its image {image}.", remedy: []string{"check the image's name and tag", "an image that only this machine has: rigup install --load-image {image}"}},
	WorkloadNetwork:     {text: "{workload} cannot start: the registry of its image {image} cannot be reached from the cluster.", remedy: []string{"check the network and the proxy settings of the Docker engine", "an image that this machine has already: rigup install --load-image {image}"}},
	WorkloadRateLimit:   {text: "{workload} cannot start: the registry of its image {image} limits how often this network may pull.", remedy: []string{"docker login to that registry, which raises the limit, then: rigup install --recreate", "or wait an hour: the cluster tries again by itself"}},
	WorkloadConfig:      {text: "{workload} cannot start: something that it refers to is missing or wrong.", remedy: []string{"create what is named below, or correct the chart's values"}},
	WorkloadVolume:      {text: "{workload} waits for its storage.", remedy: []string{"kubectl --context {context} -n {namespace} describe pod {pod} shows what is missing"}},
	WorkloadNotCreated:  {text: "The cluster does not accept the pods of {workload}.", remedy: []string{"correct what is named below in the chart or its values"}},
	WorkloadMemory:      {text: "{workload} is ended again and again because it uses more memory than it may.", remedy: []string{"raise its memory limit with --set, or give the engine more memory"}},
	WorkloadData:        {text: "{workload} cannot write to its data directory.", remedy: []string{"make {path} writable on this machine, or choose another place: rigup install --recreate --data-dir DIR"}},

	GPUNotChecked: {text: "The GPU was not checked."},
	GPUNone:       {text: "This machine has no GPU that rigup knows."},
	GPUOff:        {text: "The GPU was switched off for this cluster with --gpu=off.", remedy: []string{"rigup install --gpu=auto"}},
	GPUUnknown:    {text: "rigup could not find out whether this machine has a GPU.", remedy: []string{"{do}"}},
	GPUNotInUse:   {text: "This machine has {gpu}, but this version of rigup sets up CPU clusters only.", remedy: []string{"update rigup when a version with GPU support is published: this cluster and its data stay"}},
	GPUClusterCPU: {text: "This cluster was created without GPU; a GPU is added when a cluster is created.", remedy: []string{"rigup install --recreate rebuilds it and keeps your data and everything in the cluster"}},
	GPURequired:   {text: "A GPU is required (--gpu=require), and it is not there: {why}", remedy: []string{"rigup install --gpu=auto installs on the CPU"}, exit: ExitGPU},
	GPUNoHook:     {text: "This machine has {gpu}, which none of the hooks knows.", remedy: []string{"get the hook from the GPU's vendor, then: rigup hooks add FILE"}},
	GPUHookFailed: {text: "rigup does not know what to do with the GPU: the hook {hook} {what}.", remedy: []string{"{do}", "rigup plan --explain shows what was asked and said"}},

	EnvironmentBlocked: {text: "The cluster cannot work here: {why}", exit: ExitUsage},
	HookFailed:         {text: "The hook {hook} {what}. It was left out.", remedy: []string{"{do}"}},
	HookBeyond:         {text: "The hook {hook} {what}. Its whole answer was refused.", remedy: []string{"{do}"}},

	HookPending:       {text: "The hook {hook} waits for approval; until then it is not used.", remedy: []string{"rigup hooks approve {name}"}},
	HookApproval:      {text: "The hook {hook} needs the approval of a person, and there is nobody to ask here. --yes does not approve hooks.", remedy: []string{"{look}", "{again}"}, exit: ExitUsage},
	HookChanged:       {text: "The file of the hook {hook} is not the one that was approved, so it is not used.", remedy: []string{"put the approved file back, or look at the new one: rigup hooks approve {name}", "rigup hooks remove {hook}"}},
	HookGrant:         {text: "The list of approved hooks says other things about {hook} than its file does, so it is not used.", remedy: []string{"rigup hooks approve {name}"}},
	HookMissing:       {text: "The hook {hook} is approved, but its file {file} is gone.", remedy: []string{"put it back, or forget the hook: rigup hooks remove {id}"}},
	HookCopy:          {text: "{file} is a copy of {other}.", remedy: []string{"rigup hooks remove {file}"}},
	HookInvalid:       {text: "{file} is no hook that rigup can use: {what}.", remedy: []string{"get another file from its publisher", "to delete it: {remove}"}},
	HookFile:          {text: "{file} in the folder of hooks is left alone: it is {what}.", remedy: []string{"{do}"}},
	HookUnsigned:      {text: "The hook {hook} is not signed: nobody vouches for it.", remedy: []string{"get its signature from the publisher, a file that ends in .wasm.minisig", "if you know where it comes from: {command} --allow-unsigned"}, exit: ExitUsage},
	HookSignature:     {text: "The signature of the hook {hook} is not valid: {what}.", remedy: []string{"get the hook and its signature from the publisher again"}},
	HookSignatureGone: {text: "The hook {hook} is not signed, but the approved one is.", remedy: []string{"get its signature from the publisher, a file that ends in .wasm.minisig"}},
	HookKey:           {text: "The hook {hook} is signed with key {new}, but what was approved is signed with key {old}.", remedy: []string{"ask the publisher, on another way than the file came, whether the key was replaced", "if it was, forget the old one, then add the hook again: rigup hooks remove {id}"}},
	HookKeyUnknown:    {text: "The hook {hook} is signed with key {key}, which is not known here.", remedy: []string{"get the key from the publisher, then: {command} --key FILE"}, exit: ExitUsage},
	HookDowngrade:     {text: "The hook {hook} is older than the approved {have}.", remedy: []string{"if you want to go back: {command} --allow-downgrade"}},
	HookNotFound:      {text: "There is no hook {name}.", remedy: []string{"rigup hooks list"}, exit: ExitUsage},
	HookSeveral:       {text: "{name} can mean several files: {files}.", remedy: []string{"name the file, such as {file}"}, exit: ExitUsage},
	HookInProgram:     {text: "The hook {hook} comes with rigup and {what}.", remedy: []string{"to switch it off: rigup hooks disable {hook}"}, exit: ExitUsage},
	HookFetch:         {text: "The hook could not be fetched from {source}: {what}.", remedy: []string{"{do}"}},
	HookPush:          {text: "The hook could not be pushed to {source}: {what}.", remedy: []string{"{do}"}},
	HookDenied:        {text: "The registry {host} refused access to {source}.", remedy: []string{"docker login {host}", "check that this account may {what} there"}},
	HookLockDamaged:   {text: "The list of approved hooks, {path}, is not as rigup wrote it, so nothing in it counts.", remedy: []string{"approve again what you want to use; rigup hooks list shows what there is"}},
	HookFolder:        {text: "The folder of hooks, {path}, cannot be read.", remedy: []string{"make it readable for this user"}},
	HookCrowded:       {text: "In the folder of hooks, {path}, are {more} more files that nobody approved than rigup looks at.", remedy: []string{"take out what is no hook of yours"}},
	HookWritable:      {text: "Other users of this machine may write to {path}.", remedy: []string{"chmod go-w {path}"}},
	HookBusy:          {text: "Another rigup is changing the hooks, and did not finish within {limit}.", remedy: []string{"wait for it to end, then run the same command again"}, exit: ExitUsage},
}

// IDs returns every id of the list, for documents and tests. The order is not defined.
func IDs() []ID {
	ids := make([]ID, 0, len(list))
	for id := range list {
		ids = append(ids, id)
	}
	return ids
}
