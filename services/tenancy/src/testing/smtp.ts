/** A minimal SMTP server: it keeps the received lines. */
import { type AddressInfo, createServer, type Socket } from "node:net";

export interface SmtpServer {
  /** Commands and mails, in the order of arrival. */
  readonly receivedLines: readonly string[];
  readonly port: number;
  /** Resolves once the received lines, joined, match. */
  waitFor(what: RegExp): Promise<RegExpExecArray>;
  close(): Promise<void>;
}

const USUAL: Readonly<Record<string, string>> = { EHLO: "250-test\r\n250 AUTH PLAIN", AUTH: "235 ok", DATA: "354 continue" };

/** `answerTo`: an answer instead of the usual one. */
export async function startSmtp(answerTo: (line: string) => string | undefined = () => undefined): Promise<SmtpServer> {
  const receivedLines: string[] = [];
  const sockets = new Set<Socket>();
  const listeners = new Set<() => void>();
  const smtp = createServer((socket) => {
    sockets.add(socket);
    let isData = false;
    let rest = "";
    socket.write("220 test\r\n");
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      const lines = (rest + chunk.toString("utf8")).split("\r\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        receivedLines.push(line);
        if (isData && line !== ".") continue;
        isData = line === "DATA";
        const verb = line.split(/[ :]/)[0]?.toUpperCase() ?? "";
        socket.write(`${answerTo(line) ?? USUAL[verb] ?? "250 ok"}\r\n`);
      }
      for (const listener of listeners) listener();
    });
  });
  await new Promise<void>((resolve) => smtp.listen(0, "127.0.0.1", resolve));
  return {
    receivedLines,
    port: (smtp.address() as AddressInfo).port,
    waitFor(what) {
      return new Promise((resolve) => {
        const check = (): void => {
          const match = what.exec(receivedLines.join("\n"));
          if (match === null) return;
          listeners.delete(check);
          resolve(match);
        };
        listeners.add(check);
        check();
      });
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => smtp.close(() => resolve()));
    },
  };
}
