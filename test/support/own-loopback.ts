/** An address of this machine on which, on Linux, no other process listens: a port stays free while its server is down. */
const { pid, platform } = process;
export const OWN_LOOPBACK = platform === 'linux' ? `127.${64 + (pid >> 16)}.${(pid >> 8) & 255}.${pid & 255}` : '127.0.0.1';
