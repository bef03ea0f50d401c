/** What is used of the protocol's SDK. In the bundle it is a file of its own, which only `curbcut mcp` loads (tools/bundle/bundle.ts). */
export { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
export { serveStdio } from '@modelcontextprotocol/server/stdio';
