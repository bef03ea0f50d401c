#!/usr/bin/env node
/** The process of `curbcut-admin`: opens the database for one command. */
import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { MongoError } from 'mongodb';
import { ConfigurationError, readConfiguration } from '../../platform/configuration.ts';
import type { Logger } from '../../platform/logger.ts';
import { connectMongo, ensureIndexes, type MongoConnection } from '../../stores/mongo.ts';
import { openStores } from '../../stores/stores.ts';
import { Environment } from './config.ts';
import { run } from './run.ts';

/** The command says itself what failed. */
const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silent };
let mongo: MongoConnection | undefined;
try {
  process.exitCode = await run(
    process.argv.slice(2),
    { out: (said) => void process.stdout.write(said), err: (said) => void process.stderr.write(said) },
    async () => {
      const { MONGODB_URL } = readConfiguration(Environment, process.env);
      mongo = connectMongo({ url: MONGODB_URL, logger: silent });
      // Ids, addresses and namespaces are unique only by their indexes.
      await ensureIndexes(mongo.db);
      return {
        stores: openStores(mongo.db, { logger: silent }),
        readInput: () => text(process.stdin),
        randomWord: () => randomBytes(15).toString('base64url'),
        now: () => new Date(),
      };
    },
  );
} catch (error) {
  if (error instanceof ConfigurationError) process.stderr.write(`curbcut-admin: ${error.problems.join('\n')}\n`);
  else if (error instanceof MongoError) process.stderr.write(`curbcut-admin: the database could not be used: ${error.message}\n`);
  else process.stderr.write(`curbcut-admin: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await mongo?.close();
}
