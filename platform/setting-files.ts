/**
 * Settings that come from files, such as the keys of a mounted Secret: `NAME_FILE` is the path of a file with the value of
 * `NAME`. The files are read again while the process runs, so that credentials are rotated without a restart.
 */
import { readFileSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TObject, TSchema } from 'typebox';
import { isFromFile, mistakesIn, type Environment } from './configuration.ts';
import type { Logger } from './logger.ts';

/** A credential: constant, or one that may change while the process runs. */
export type Credential = string | (() => string);

/** The current value of a credential. Do not keep it: read it whenever it is used. */
export const currentOf = (credential: Credential): string => (typeof credential === 'function' ? credential() : credential);

export interface LiveSettings {
  /** Returns a function that returns the current value of a setting, or undefined if the setting is not set. */
  credential(name: string): (() => string) | undefined;
  /** Calls `listener` after at least one of these settings has changed. */
  onChange(names: readonly string[], listener: () => void): void;
}

export interface SettingFiles extends LiveSettings {
  /** The environment, with the settings from files. */
  readonly environment: Environment;
  /** The files that cannot be read, for the `further` parameter of `readConfiguration`. */
  readonly problems: readonly string[];
  /** Reads the files again every few seconds until the returned function is called. Does not keep the process alive. */
  follow(logger: Logger, everyMs?: number): () => void;
}

/** A changed value is used after two to three times this, in milliseconds. The kubelet itself takes up to a minute. */
const FOLLOW_EVERY_MS = 5_000;
/** No credential or bundle of certificates is larger, and a Secret cannot be. */
const FILE_MAX_BYTES = 1024 * 1024;

/** Reads the files of all settings of `schema` that may come from a file. */
export function openSettingFiles(schema: TObject, given: Environment): SettingFiles {
  const properties = schema.properties as Record<string, TSchema>;
  const environment: Record<string, string | undefined> = { ...given };
  const paths = new Map<string, string>();
  const problems: string[] = [];
  const listeners: { names: readonly string[]; listener: () => void }[] = [];

  for (const [name, property] of Object.entries(properties)) {
    const path = given[fileVariable(name)];
    if (!isFromFile(property) || !path) continue;
    if (given[name]) problems.push(`${name} and ${fileVariable(name)} are both set; set one of them.`);
    paths.set(name, path);
    const read = readValue(path);
    if (read.ok) environment[name] = read.value;
    else problems.push(`${fileVariable(name)} is ${JSON.stringify(path)}; ${read.reason}.`);
  }

  const readAll = () => new Map([...paths].map(([name, path]) => [name, readValue(path)]));

  /** Uses the values that are valid. */
  function adopt(contents: ReturnType<typeof readAll>, logger: Logger): void {
    const changed = new Set<string>();
    for (const [name, read] of contents) {
      if (read.ok && read.value === environment[name]) continue;
      const mistakes = read.ok ? mistakesIn(name, properties[name]!, read.value) : [`${fileVariable(name)}: ${read.reason}.`];
      if (mistakes.length > 0)
        logger.error({ setting: name, problems: mistakes }, 'changed setting refused, the earlier value stays in use');
      if (!read.ok || mistakes.length > 0) continue;
      environment[name] = read.value;
      changed.add(name);
      logger.info({ setting: name }, 'setting changed');
    }
    for (const { names, listener } of listeners) if (names.some((name) => changed.has(name))) apply(names, listener, logger);
  }

  return {
    environment,
    problems,
    credential: (name) => (environment[name] ? () => environment[name]! : undefined),
    onChange: (names, listener) => void listeners.push({ names, listener }),
    follow(logger, everyMs = FOLLOW_EVERY_MS) {
      const stopping = new AbortController();
      void (async () => {
        let adopted = JSON.stringify([...readAll()]);
        let before = adopted;
        while (!stopping.signal.aborted) {
          // Rejected only by the returned function.
          await sleep(everyMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
          if (stopping.signal.aborted) return;
          const contents = readAll();
          const now = JSON.stringify([...contents]);
          // Two equal reads: the id of a key and its secret may be in two files, of which one read sees the new and the old one.
          if (now === before && now !== adopted) {
            adopted = now;
            adopt(contents, logger);
          }
          before = now;
        }
      })();
      return () => stopping.abort();
    },
  };
}

/** Settings that do not change, such as those of a test. */
export function fixedSettings(values: Readonly<Record<string, unknown>>): LiveSettings {
  return {
    credential: (name) => (values[name] ? () => String(values[name]) : undefined),
    onChange: () => undefined,
  };
}

/** A listener that fails must not end the process, nor keep others from learning the change. */
function apply(names: readonly string[], listener: () => void, logger: Logger): void {
  try {
    listener();
  } catch {
    // The error may contain the value.
    logger.error({ settings: names }, 'changed setting not applied; restart the process');
  }
}

const fileVariable = (name: string): string => `${name}_FILE`;

function readValue(path: string): { ok: true; value: string } | { ok: false; reason: string } {
  try {
    if (statSync(path).size > FILE_MAX_BYTES) return { ok: false, reason: 'the file is larger than 1 MiB' };
    const value = readFileSync(path, 'utf8').trim();
    return value === '' ? { ok: false, reason: 'the file is empty' } : { ok: true, value };
  } catch (error) {
    return { ok: false, reason: `the file cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})` };
  }
}
