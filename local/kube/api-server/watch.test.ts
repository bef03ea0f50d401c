import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { memoryJournal, openStore } from '../store.ts';
import { openCatalogue } from '../resources/builtins.ts';
import { streamWatch } from './watch.ts';

describe('bookmarks of a watch', () => {
  for (const [plural, are] of [
    ['configmaps', true],
    ['events', false],
  ] as const)
    it(`${are ? 'are sent' : 'are not sent, as by a real server,'} for ${plural}`, async () => {
      const store = openStore(memoryJournal());
      const resource = openCatalogue(store).named('', plural);
      const lines: string[] = [];
      const response = {
        writableLength: 0,
        writeHead: () => undefined,
        flushHeaders: () => undefined,
        write: (line: string) => lines.push(line),
        on: () => undefined,
        end: () => undefined,
      } as unknown as ServerResponse;
      const options = { namespace: '', matches: () => true, resourceVersion: '', bookmarks: true, sendInitialEvents: false };
      const stop = streamWatch(store, { resource, ...options, timeoutMs: 10_000, present: () => null }, response, 1);
      await new Promise((resolve) => setTimeout(resolve, 20));
      stop();
      expect(lines.some((line) => line.includes('BOOKMARK'))).to.equal(are);
    });
});
