/** Without the archive no worker leads an environment that has archived. */
import { expect, test } from "@jest/globals";
import { startRedis } from "@perdure/servers";
import { agreeOnArchiving } from "../src/index.js";
import { connectTo } from "./connected.js";

test("a worker without an archive may lead until the first one archives, in its own environment only", async () => {
  await using redis = await startRedis();
  await using connections = await connectTo(redis.port);
  await agreeOnArchiving(connections, "one", false);
  await agreeOnArchiving(connections, "one", true);
  await agreeOnArchiving(connections, "one", true);
  await expect(agreeOnArchiving(connections, "one", false)).rejects.toMatchObject({
    code: "OPS0001",
    message: expect.stringContaining("metadata.postgres-url"),
  });
  await agreeOnArchiving(connections, "two", false);
});
