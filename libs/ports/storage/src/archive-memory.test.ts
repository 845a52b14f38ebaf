import { MemoryArchive } from "./archive-memory.js";
import { describeArchive } from "./testing/archive-contract.js";

describeArchive("memory", async () => new MemoryArchive());
