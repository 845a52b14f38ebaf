/** Sockets and servers of this process, counted: the test framework's own timers may come and go meanwhile. */
const SOCKETS = new Set(["TCPSocketWrap", "TCPServerWrap", "TLSWrap", "TCPConnectWrap"]);

function count(): number {
  return process.getActiveResourcesInfo().filter((kind) => SOCKETS.has(kind)).length;
}

/** Records how many are open; `expectClosed` throws unless the number returns to that within a second. */
export function openSockets(): { expectClosed(): Promise<void> } {
  const before = count();
  return {
    async expectClosed() {
      for (let turn = 0; turn < 200 && count() > before; turn++) await new Promise<void>((resolve) => setTimeout(resolve, 5));
      if (count() > before) throw new Error(`${count() - before} sockets left open`);
    },
  };
}
