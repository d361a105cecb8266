package report

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableVT asks the console to understand control sequences. Consoles before Windows 10 refuse.
func enableVT(f *os.File) bool {
	h := windows.Handle(f.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(h, &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
