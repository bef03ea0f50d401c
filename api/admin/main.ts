#!/usr/bin/env node
/** The entry point of `curbcut-admin`: opens the database and runs one command. */
import { randomBytes } from 'node:crypto';
import { text as readText } from 'node:stream/consumers';
import { MongoError } from 'mongodb';
import { authorityHint, trustAuthorities } from '../../platform/authorities.ts';
import { ConfigurationError } from '../../platform/configuration.ts';
import type { Logger } from '../../platform/logger.ts';
import { openDatabase, type Database } from '../../stores/database.ts';
import { readAdminConfiguration } from './config.ts';
import { run } from './run.ts';

/** Logs nothing, because the command prints its own errors. */
const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silent };
const hintOf = (error: unknown): string => authorityHint(error)?.concat('\n') ?? '';
let database: Database | undefined;
try {
  process.exitCode = await run(
    process.argv.slice(2),
    { out: (text) => void process.stdout.write(text), err: (text) => void process.stderr.write(text) },
    async () => {
      const configuration = readAdminConfiguration(process.env);
      if (configuration.PRIVATE_CA !== undefined) trustAuthorities(configuration.PRIVATE_CA);
      database = openDatabase(configuration, { logger: silent });
      // Creates the indexes, which make IDs, email addresses and namespaces unique.
      await database.prepare();
      return {
        stores: database.stores,
        mail: configuration.SMTP_URL !== undefined,
        readInput: () => readText(process.stdin),
        randomToken: () => randomBytes(15).toString('base64url'),
        now: () => new Date(),
      };
    },
  );
} catch (error) {
  if (error instanceof ConfigurationError) process.stderr.write(`curbcut-admin: ${error.problems.join('\n')}\n`);
  else if (error instanceof MongoError)
    process.stderr.write(`curbcut-admin: the database is unavailable: ${error.message}\n${hintOf(error)}`);
  else process.stderr.write(`curbcut-admin: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await database?.close();
}
