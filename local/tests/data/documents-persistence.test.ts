import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { MongoClient, type Collection, type Document } from 'mongodb';
import { startDocuments, type Documents } from '../../documents/documents.ts';
import { openLog } from '../../documents/storage/log.ts';
import type { Change } from '../../documents/storage/collection.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

describe('document store persistence', () => {
  let folder: string;
  const closers: (() => Promise<unknown>)[] = [];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'documents-'));
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = async (url: string): Promise<Collection<Document>> => {
    const client = await new MongoClient(url).connect();
    closers.push(() => client.close());
    return client.db('kept').collection('things');
  };
  const start = async (): Promise<Documents> => {
    const documents = await startDocuments({ dataDir: folder });
    closers.push(() => documents.close());
    return documents;
  };
  const end = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  const logFile = (): string =>
    join(
      folder,
      readdirSync(folder).find((name) => name.endsWith('.log'))!,
    );
  const all = (things: Collection<Document>) => things.find({}, { sort: { _id: 1 } }).toArray();

  it('restores documents, indexes and removals after a restart', async () => {
    let things = await open((await start()).url);
    await things.createIndex({ n: 1 }, { unique: true });
    await things.insertMany([1, 2, 3].map((n) => ({ _id: n as never, n, at: new Date(n) })));
    await things.updateOne({ n: 2 }, { $set: { n: 20 } });
    await things.deleteOne({ n: 3 });
    const before = await all(things);
    await end();
    things = await open((await start()).url);
    expect(await all(things)).to.deep.equal(before);
    expect((await things.listIndexes().toArray()).map(({ name }) => name as string)).to.deep.equal(['_id_', 'n_1']);
    expect(await things.insertOne({ n: 20 }).catch((error: { code: number }) => error.code)).to.equal(11000);
  });

  it('loses no acknowledged write when it is killed', async () => {
    const child = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      `import { startDocuments } from ${JSON.stringify(join(ROOT, 'local/documents/documents.ts'))};
       console.log((await startDocuments({ dataDir: ${JSON.stringify(folder)} })).url);`,
    ]); // prettier-ignore
    closers.push(() => Promise.resolve(child.kill('SIGKILL')));
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    let things = await open(line.toString().trim());
    let acknowledged = 0;
    const ended = once(child, 'exit');
    const writing = (async () => {
      for (let n = 0; ; n++) {
        await things.insertOne({ _id: n as never });
        acknowledged = n + 1;
        if (acknowledged === 300) child.kill('SIGKILL');
      }
    })().catch(() => {});
    await ended;
    await Promise.race([writing, closers.pop()!()]);
    closers.splice(0);
    things = await open((await start()).url);
    expect(acknowledged).to.be.at.least(300);
    expect(await things.countDocuments()).to.be.at.least(acknowledged);
  });

  it('drops a torn record at the end and continues', async () => {
    let things = await open((await start()).url);
    await things.insertMany([{ _id: 1 as never }, { _id: 2 as never }]);
    await end();
    for (const tear of [
      () => truncateSync(logFile(), statSync(logFile()).size - 3),
      () => appendFileSync(logFile(), Buffer.alloc(4096)),
      () => appendFileSync(logFile(), Buffer.from([200, 0, 0, 0, 1, 2])),
    ]) {
      tear();
      things = await open((await start()).url);
      const found = (await all(things)).map(({ _id }) => _id as unknown as number);
      expect(found[0]).to.equal(1);
      await things.updateOne({ _id: 2 as never }, { $set: { again: true } }, { upsert: true });
      expect((await all(things)).length).to.equal(2);
      await end();
    }
  });

  it('does not start if the log is damaged in the middle', async () => {
    const things = await open((await start()).url);
    await things.insertMany([{ _id: 1 as never, text: 'a'.repeat(100) }, { _id: 2 as never }]);
    await end();
    const bytes = readFileSync(logFile());
    bytes[bytes.indexOf('aaaaaaaa')] = 0x62;
    writeFileSync(logFile(), bytes);
    const attempt = await startDocuments({ dataDir: folder }).then(
      (documents) => documents.close(),
      (error: Error) => error.message,
    );
    expect(attempt).to.match(/is damaged at byte \d+; restore it/);
  });

  it('compacts the log, and ignores an unfinished compaction', async () => {
    const things = await open((await start()).url);
    await things.insertOne({ _id: 1 as never, n: 0, filler: 'x'.repeat(1000) });
    for (let i = 0; i < 50; i++) await things.updateOne({ _id: 1 as never }, { $inc: { n: 1 } });
    await end();
    const large = statSync(logFile()).size;
    writeFileSync(join(folder, 'documents-00000099.log.new'), 'unfinished');
    await start();
    expect(statSync(logFile()).size).to.be.lessThan(large / 10);
    expect(readdirSync(folder).length).to.equal(1);
    expect(await all(await open((closers.length, await restart())))).to.have.length(1);
  });

  const restart = async (): Promise<string> => {
    await end();
    return (await start()).url;
  };

  it('compacts while running without losing anything', () => {
    const log = openLog(folder, () => {});
    const put = (n: number): Change => ({ kind: 'put', namespace: 'a.b', doc: { _id: 1, n } });
    for (let n = 0; n < 100; n++) log.note(put(n));
    log.flush();
    log.compact([put(99)]);
    log.note(put(100));
    log.flush();
    log.close();
    const replayed: Change[] = [];
    openLog(folder, (change) => replayed.push(change)).close();
    expect(replayed).to.deep.equal([put(99), put(100)]);
  });

  it('rejects a second process on its folder', async () => {
    await start();
    const second = await startDocuments({ dataDir: folder }).then(
      () => 'started',
      (error: Error) => error.message,
    );
    expect(second).to.contain(`(process ${process.pid})`);
  });
});
