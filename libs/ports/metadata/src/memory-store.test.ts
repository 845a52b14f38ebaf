import { createMemoryMetadataStore, emptyMemoryMetadata, type MemoryMetadata } from "./memory-store.js";
import { describeMetadataStore } from "./testing/contract.js";

let memory: MemoryMetadata = emptyMemoryMetadata();
describeMetadataStore(
  "memory",
  async () => {
    memory = emptyMemoryMetadata();
  },
  async () => createMemoryMetadataStore(memory),
);
