// A server that answers every connection and never closes one: what the fuzzer must find.
import { createServer } from "node:net";

const server = createServer({ allowHalfOpen: true }, (socket) => {
  socket.on("error", () => undefined);
  socket.once("data", () => {
    socket.pause();
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
  });
});
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ msg: "ready", port: String(server.address().port) })));
