/**
 * A proxy in front of an API server, for network failures that servers do not produce: tests cut the connection, restore it, make it
 * silent, or hold it.
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import { type ControlPlane, freePorts } from "@perdure/servers";

export class Wire implements AsyncDisposable {
  readonly port: number;
  readonly #server: Server;
  readonly #target: number;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #isCut = false;
  #isHeld = false;

  private constructor(port: number, target: number) {
    this.port = port;
    this.#target = target;
    this.#server = createServer({ pauseOnConnect: true }, (near) => this.#join(near));
  }

  static async to({ port: target }: ControlPlane): Promise<Wire> {
    const [port] = (await freePorts(1)) as [number];
    const wire = new Wire(port, target);
    await new Promise<void>((resolve, reject) => {
      wire.#server.once("error", reject);
      wire.#server.listen(port, "127.0.0.1", resolve);
    });
    return wire;
  }

  /** A kubeconfig of `user` that leads through this wire. */
  kubeconfig(kubernetes: ControlPlane, user?: string): string {
    return kubernetes.kubeconfig(user).replaceAll(`127.0.0.1:${kubernetes.port}`, `127.0.0.1:${this.port}`);
  }

  /** Breaks all connections and refuses new ones. */
  cut(): void {
    this.#isCut = true;
    for (const [near, far] of this.#pairs) {
      near.resetAndDestroy();
      far.resetAndDestroy();
    }
    this.#pairs.clear();
  }

  mend(): void {
    this.#isCut = false;
  }

  /** Connections of now stay open, and whatever is sent on them is swallowed; new ones are well. */
  swallow(): void {
    for (const [near, far] of this.#pairs) {
      for (const socket of [near, far]) {
        socket.unpipe();
        socket.resume();
      }
    }
  }

  /** Holds back everything that clients send until `release`. */
  hold(): void {
    this.#isHeld = true;
    for (const [near, far] of this.#pairs) near.unpipe(far).pause();
  }

  release(): void {
    this.#isHeld = false;
    for (const [near, far] of this.#pairs) near.pipe(far);
  }

  #join(near: Socket): void {
    if (this.#isCut) {
      near.resetAndDestroy();
      return;
    }
    const far = connect(this.#target, "127.0.0.1");
    const pair = [near, far] as const;
    this.#pairs.add(pair);
    for (const socket of pair) {
      socket.on("error", () => {}); // Breaking is what it is for.
      socket.on("close", () => {
        this.#pairs.delete(pair);
        near.destroy();
        far.destroy();
      });
    }
    far.pipe(near);
    if (!this.#isHeld) near.pipe(far);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
