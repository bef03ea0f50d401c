/** Runs Lua scripts as Argo CD does: with the object as the global `obj`, and without most of the standard library. */
import { readdirSync, readFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { LuaFactory } from 'wasmoon';

export const ARGO = join(import.meta.dirname, '..', '..', 'helm', 'files', 'argocd', 'curbcut.dev');

/**
 * Argo CD opens only the base and table libraries and parts of os (util/lua in its source). Its interpreter is gopher-lua,
 * which is Lua 5.1, ours is Lua 5.4: the newer functions are removed too.
 */
const SANDBOX = `
debug.getmetatable("").__index = nil
local date, time = os.date, os.time
local argo = { ipairs = ipairs, pairs = pairs, next = next, type = type, tostring = tostring, tonumber = tonumber, error = error,
  assert = assert, pcall = pcall, select = select, setmetatable = setmetatable, rawget = rawget, rawset = rawset,
  table = { concat = table.concat, insert = table.insert, remove = table.remove, sort = table.sort },
  os = { date = date, time = time }, obj = obj }
argo.require = function(name) return argo[name] end
`;

/** What only one of Lua 5.1 and 5.4 has: goto, integer division, bit operators, attributes, unpack. */
const NOT_IN_BOTH = /\bgoto\b|::|\/\/|[&|]|~(?!=)|<\s*(const|close)\s*>|\bunpack\b|\bsetfenv\b|\bgetfenv\b|\bmodule\b|\bloadstring\b/;

/** Returns the parts of a script that not both versions of Lua have. */
export function notPortable(script: string): string[] {
  const code = script.replace(/--.*$/gm, '').replace(/"[^"]*"/g, '""');
  return code.split('\n').filter((line) => NOT_IN_BOTH.test(line));
}

const withoutNulls = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, inner: unknown) => (inner === null ? undefined : inner)) as unknown;

const factory = new LuaFactory();

/** Returns what the script returns for the object. A null is an absent field, as in Argo CD. */
export async function runLua(script: string, object: unknown): Promise<unknown> {
  const engine = await factory.createEngine({ enableProxy: false });
  try {
    engine.global.set('obj', withoutNulls(object));
    engine.global.set('script', script);
    return (await engine.doString(`${SANDBOX}\nreturn assert(load(script, "script", "t", argo))()`)) as unknown;
  } finally {
    engine.global.close();
  }
}

export interface Health {
  status: string;
  message?: string;
}

export const healthScript = (kind: string): string => readFileSync(join(ARGO, kind, 'health.lua'), 'utf8');
export const healthOf = async (kind: string, object: unknown): Promise<Health> => (await runLua(healthScript(kind), object)) as Health;

/** The kinds that have a health.lua. */
export const KINDS = readdirSync(ARGO).sort();

/** The actions of a kind by name, and the script that says which are possible. */
export function actionsOf(kind: string): { discovery: string; actions: Record<string, string> } | null {
  const folder = join(ARGO, kind, 'actions');
  if (!existsSync(folder)) return null;
  const names = readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));
  return {
    discovery: readFileSync(join(folder, 'discovery.lua'), 'utf8'),
    actions: Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name, 'action.lua'), 'utf8')])),
  };
}
