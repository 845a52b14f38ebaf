/** Sockets and servers of this process, counted: the test framework's own timers may come and go meanwhile. */
import { until } from "@perdure/testkit";

const SOCKETS = new Set(["TCPSocketWrap", "TCPServerWrap", "TLSWrap", "TCPConnectWrap"]);

function count(): number {
  return process.getActiveResourcesInfo().filter((kind) => SOCKETS.has(kind)).length;
}

/** Records how many are open; `expectClosed` rejects unless the number returns to that. */
export function openSockets(): { expectClosed(): Promise<void> } {
  const before = count();
  return {
    async expectClosed() {
      await until(() => count() <= before, "all sockets are closed");
    },
  };
}
