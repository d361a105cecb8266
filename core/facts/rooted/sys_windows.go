package rooted

// openFlags: Windows has neither pipes nor device nodes among its files.
const openFlags = 0

// notDir: Windows says that the path does not exist.
func notDir(error) bool { return false }
