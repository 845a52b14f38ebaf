/**
 * Calls back when the event loop has read from every socket once. Due timers fire before sockets are read, so after a stall of this process
 * a timeout would end connections whose bytes arrived long ago.
 */
export function afterReading(callback: () => void): void {
  // The first immediate may run before sockets are read when this is called from one of their callbacks; the second runs after that.
  setImmediate(() => setImmediate(callback));
}
