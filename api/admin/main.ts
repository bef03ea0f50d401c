#!/usr/bin/env node
/** The process of `curbcut-admin`: opens the database and runs one command. */
import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { MongoError } from 'mongodb';
import { ConfigurationError, readConfiguration } from '../../platform/configuration.ts';
import type { Logger } from '../../platform/logger.ts';
import { openDatabase, type Database } from '../../stores/database.ts';
import { Environment } from './config.ts';
import { run } from './run.ts';

/** The command itself reports failures. */
const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silent };
let database: Database | undefined;
try {
  process.exitCode = await run(
    process.argv.slice(2),
    { out: (said) => void process.stdout.write(said), err: (said) => void process.stderr.write(said) },
    async () => {
      database = openDatabase(readConfiguration(Environment, process.env), { logger: silent });
      // With the indexes: ids, addresses and namespaces are unique only by them.
      await database.prepare();
      return {
        stores: database.stores,
        readInput: () => text(process.stdin),
        randomWord: () => randomBytes(15).toString('base64url'),
        now: () => new Date(),
      };
    },
  );
} catch (error) {
  if (error instanceof ConfigurationError) process.stderr.write(`curbcut-admin: ${error.problems.join('\n')}\n`);
  else if (error instanceof MongoError) process.stderr.write(`curbcut-admin: the database is unavailable: ${error.message}\n`);
  else process.stderr.write(`curbcut-admin: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await database?.close();
}
