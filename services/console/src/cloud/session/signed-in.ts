/** Sends the user back after a sign-in in another window, and notifies the first window at once. */

const CHANNEL = "perdure.signed-in";
/** Target of the login in the other window. */
export const SIGNED_IN_PATH = "/signed-in";

export function notifySignedIn(): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(null);
  channel.close();
}

/** Returns a function that stops listening. */
export function onSignedIn(listen: () => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = listen;
  return () => channel.close();
}
