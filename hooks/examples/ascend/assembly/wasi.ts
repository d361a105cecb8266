// The three calls of WASI preview 1 that a hook needs.

@external("wasi_snapshot_preview1", "fd_read")
declare function fd_read(fd: i32, buffers: usize, count: i32, got: usize): i32;
@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(fd: i32, buffers: usize, count: i32, done: usize): i32;
@external("wasi_snapshot_preview1", "proc_exit")
declare function proc_exit(code: i32): void;

const io = memory.data(12, 4); // a buffer's address, its length, and how much of it was used

/** Everything on standard input. */
export function input(): string {
  let room: usize = 1 << 16;
  let text = heap.alloc(room);
  let n: usize = 0;
  for (;;) {
    store<u32>(io, <u32>(text + n));
    store<u32>(io, <u32>(room - n), 4);
    if (fd_read(0, io, 1, io + 8) != 0) exit("the request cannot be read");
    const got = load<u32>(io, 8);
    if (got == 0) break;
    n += got;
    if (n == room) {
      const more = heap.alloc(room * 2);
      memory.copy(more, text, n);
      text = more;
      room *= 2;
    }
  }
  return String.UTF8.decodeUnsafe(text, n);
}

/** Writes the response. */
export function output(s: string): void {
  write(1, s);
}

/** Writes a line of the log. */
export function log(s: string): void {
  write(2, s + "\n");
}

function write(fd: i32, s: string): void {
  const bytes = String.UTF8.encode(s);
  let at = changetype<usize>(bytes);
  let left = <u32>bytes.byteLength;
  while (left > 0) {
    store<u32>(io, <u32>at);
    store<u32>(io, left, 4);
    if (fd_write(fd, io, 1, io + 8) != 0) proc_exit(1);
    at += load<u32>(io, 8);
    left -= load<u32>(io, 8);
  }
}

function exit(why: string): void {
  log(why);
  proc_exit(1);
}

/** Called by failed assertions, through the compiler's option --use abort=... */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  exit(message == null ? "failed" : message);
}
