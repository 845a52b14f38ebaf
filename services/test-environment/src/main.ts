#!/usr/bin/env node
/** The program `perdure test-server`. Its first argument is the name of the command. */
import { runTestServer } from "./server/test-server.js";

const exitCode = await runTestServer(process.argv.slice(3));
process.exit(exitCode);
