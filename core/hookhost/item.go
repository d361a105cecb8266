package hookhost

import (
	"slices"

	"rigup.dev/rigup/hooks/sdk"
)

// The items of each section, as https://www.w3.org/TR/wasm-core-2/#binary-modules has them. The bodies of functions
// are left to the interpreter.

func isValueType(b byte) bool {
	return b >= 0x7b && b <= 0x7f || isRefType(b) // v128, f64, f32, i64, i32
}

func isRefType(b byte) bool { return b == 0x70 || b == 0x6f } // funcref, externref

// expect reads a byte for which ok has to hold.
func (r *reader) expect(ok func(byte) bool) byte {
	b := r.byte()
	if r.err == nil && !ok(b) {
		r.fail(errForm)
	}
	return b
}

func (r *reader) exactly(b byte) { r.expect(func(c byte) bool { return c == b }) }

func (m *checker) funcType(r *reader, _ int) error {
	r.exactly(0x60)
	empty := true
	for range 2 {
		n := r.u32()
		if n > maxParams {
			return refuse("has a function with %d parameters or results", n)
		}
		for range n {
			r.expect(isValueType)
			empty = false
		}
	}
	m.plain = append(m.plain, empty)
	return nil
}

// typed reads an index of a type.
func (m *checker) typed(r *reader) uint32 {
	i := r.u32()
	if r.err == nil && uint64(i) >= uint64(len(m.plain)) {
		r.fail(errForm)
		return 0
	}
	return i
}

// wasi is the module that all imports come from.
const wasi = "wasi_snapshot_preview1"

// offered are the functions of WASI preview 1 that standard libraries import. Those about files and sockets are
// there so that programs which link them can start; they find nothing. fd_renumber is not: it lets a program make
// the interpreter's table of descriptors as large as it wants. Nor is proc_raise, which no library needs.
var offered = []string{
	"args_get", "args_sizes_get", "clock_res_get", "clock_time_get", "environ_get", "environ_sizes_get",
	"fd_advise", "fd_allocate", "fd_close", "fd_datasync", "fd_fdstat_get", "fd_fdstat_set_flags", "fd_fdstat_set_rights",
	"fd_filestat_get", "fd_filestat_set_size", "fd_filestat_set_times", "fd_pread", "fd_prestat_dir_name", "fd_prestat_get",
	"fd_pwrite", "fd_read", "fd_readdir", "fd_seek", "fd_sync", "fd_tell", "fd_write",
	"path_create_directory", "path_filestat_get", "path_filestat_set_times", "path_link", "path_open", "path_readlink",
	"path_remove_directory", "path_rename", "path_symlink", "path_unlink_file",
	"poll_oneoff", "proc_exit", "random_get", "sched_yield", "sock_accept", "sock_recv", "sock_send", "sock_shutdown",
}

func (m *checker) imports(r *reader, _ int) error {
	module, name := string(r.name()), string(r.name())
	kind := r.byte()
	if r.err != nil {
		return nil
	}
	if kind != 0 || module != wasi || !slices.Contains(offered, name) {
		return refuse("wants the import %s.%s, which hooks do not get", line(module, 60), line(name, 60))
	}
	m.typed(r)
	m.imported++
	if !slices.Contains(m.Imports, name) {
		m.Imports = append(m.Imports, name)
	}
	return nil
}

func (m *checker) function(r *reader, _ int) error {
	m.functions = append(m.functions, m.typed(r))
	return nil
}

// limits reads how large a table or memory is at first. The largest size does not count: the interpreter and the
// process have limits for what grows.
func (r *reader) limits() uint32 {
	flag := r.byte()
	if flag > 1 {
		r.fail(errForm) // shared between threads, or of 64 bits
	}
	n := r.u32()
	if flag == 1 {
		r.u32()
	}
	return n
}

func (m *checker) table(r *reader, _ int) error {
	r.expect(isRefType)
	if n := r.limits(); n > maxTable {
		return refuse("has a table of %d entries; hooks have at most %d", n, maxTable)
	}
	return nil
}

func (m *checker) memories(r *reader, _ int) error {
	n := r.limits()
	if n > maxPages {
		return refuse("wants %d MiB of memory; hooks have at most %d", n>>4, maxPages>>4)
	}
	m.Pages = int(n)
	return nil
}

// constant reads over the expression that gives the value of a global or the place of a segment: one instruction
// and the end.
func (r *reader) constant() {
	switch r.byte() {
	case 0x41: // i32.const
		r.skipInt(5)
	case 0x42: // i64.const
		r.skipInt(10)
	case 0x43: // f32.const
		r.take(4)
	case 0x44: // f64.const
		r.take(8)
	case 0x23, 0xd2: // global.get, ref.func
		r.u32()
	case 0xd0: // ref.null
		r.expect(isRefType)
	case 0xfd: // v128.const
		r.exactly(12)
		r.take(16)
	default:
		r.fail(errForm)
	}
	r.exactly(0x0b)
}

func (m *checker) global(r *reader, _ int) error {
	r.expect(isValueType)
	r.expect(func(b byte) bool { return b <= 1 })
	r.constant()
	return nil
}

func (m *checker) export(r *reader, _ int) error {
	name, kind, index := r.name(), r.byte(), r.u32()
	if kind > 3 {
		r.fail(errForm)
	}
	if r.err != nil || string(name) != "_start" {
		return nil
	}
	if kind != 0 || !m.isPlain(index) {
		return refuse("exports a _start that is not a function without parameters and results")
	}
	m.start = true
	return nil
}

// startFunction is what runs before _start. AssemblyScript has one.
func (m *checker) startFunction(r *reader) error {
	if i := r.u32(); r.err == nil && !m.isPlain(i) {
		return refuse("has a start function that takes or returns something, or is not there")
	}
	return nil
}

func (m *checker) element(r *reader, _ int) error {
	form := r.u32()
	if form > 7 {
		r.fail(errForm)
	}
	active, expressions := form&1 == 0, form&4 != 0
	if active {
		if form&2 != 0 {
			r.u32() // table
		}
		r.constant()
	}
	if form&3 != 0 {
		if expressions {
			r.expect(isRefType)
		} else {
			r.exactly(0)
		}
	}
	n := r.u32()
	if r.err != nil {
		return nil
	}
	m.elements += int(n)
	if uint64(n) > uint64(len(r.b)) || m.elements > maxItems {
		return refuse("claims %d entries for its table in %d bytes", m.elements, len(r.b))
	}
	for i := uint32(0); i < n && r.err == nil; i++ {
		if expressions {
			r.constant()
		} else {
			r.u32()
		}
	}
	return nil
}

func (m *checker) code(r *reader, i int) error {
	size := r.u32()
	if size > maxBody {
		return refuse("has a function of %d KiB; hooks have at most %d", size>>10, maxBody>>10)
	}
	body := reader{b: r.take(size)}
	if r.err != nil {
		return nil
	}
	groups := body.u32()
	sum := uint64(0)
	for j := uint32(0); j < groups && body.err == nil; j++ {
		sum += uint64(body.u32())
		body.expect(isValueType)
		if sum > maxLocals {
			return refuse("has a function with more than %d local variables", maxLocals)
		}
	}
	if m.locals += int(sum); m.locals > maxAllLocals {
		return refuse("has more than %d local variables", maxAllLocals)
	}
	if n := len(body.b); body.err != nil || n == 0 || body.b[n-1] != 0x0b {
		return refuse("has a damaged code section: function %d is not complete", i)
	}
	return nil
}

func (m *checker) data(r *reader, _ int) error {
	switch r.u32() {
	case 0:
		r.constant()
	case 1: // copied by an instruction
	case 2:
		r.u32() // memory
		r.constant()
	default:
		r.fail(errForm)
	}
	r.take(r.u32())
	return nil
}

func (m *checker) custom(s section) error {
	if s.name != sdk.Section {
		return nil
	}
	if len(m.Manifests) == maxManifests {
		return refuse("has more than %d manifests", maxManifests)
	}
	man, err := readManifest(s.body)
	if err != nil {
		return refuse("has a manifest that %v", err)
	}
	m.Manifests = append(m.Manifests, man)
	return nil
}

// readManifest reads a manifest. Its error goes on after "the manifest" or "a manifest that".
func readManifest(b []byte) (sdk.Manifest, error) {
	if len(b) > maxManifest {
		return sdk.Manifest{}, refuse("has %d KiB; at most %d are read", len(b)>>10, maxManifest>>10)
	}
	m, err := sdk.DecodeManifest(b)
	switch {
	case err != nil:
		return m, refuse("cannot be read: %s", line(err.Error(), 300))
	case m.API != sdk.API:
		return m, refuse("is for %s; this program knows %s", quoted(m.API), sdk.API)
	case m.ABI != sdk.ABI:
		return m, refuse("is for the ABI %s; this program knows %s", quoted(m.ABI), sdk.ABI)
	}
	return m, nil
}
