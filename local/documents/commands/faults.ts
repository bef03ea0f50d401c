/**
 * The fail point `failCommand`, with which tests let commands fail as in a failover. It follows MongoDB's, which exists only if a
 * server was started with test commands. Two things are ours. `skip` and `times` may be combined, so that a fault hits one certain
 * command. `afterExecution` loses the answer of any command, and not only of a transaction.
 */
import { CommandError } from '../errors.ts';
import { isDoc, truthy, type Doc } from '../values.ts';

/** What a command meets instead of its answer. */
export interface Fault {
  /** Whether the command takes effect. */
  executes: boolean;
  /** The fields of the response, added to those of the command if it was executed; null: the connection is closed instead. */
  response: Doc | null;
}

export interface Faults {
  /** Runs `configureFailPoint`. @throws CommandError if the fail point, its mode or its data are not supported */
  configure(command: Doc): Doc;
  /** The fault of the next command with this name, of a client with this name; null if it does not fail. */
  next(name: string, appName: unknown): Fault | null;
}

const DATA = ['failCommands', 'errorCode', 'errorLabels', 'closeConnection', 'writeConcernError', 'appName', 'afterExecution'];

/** A fail point that is off. */
export function openFaults(): Faults {
  let names: ReadonlySet<unknown> = new Set();
  let client: unknown;
  let fault: Fault = { executes: true, response: {} };
  let [skip, times] = [0, 0];
  let entered = 0;

  return {
    configure(command) {
      if (command['configureFailPoint'] !== 'failCommand')
        throw new CommandError(
          115,
          `The fail point '${String(command['configureFailPoint'])}' is not supported by the embedded document store.`,
        );
      const data = isDoc(command['data']) ? command['data'] : {};
      ({ skip, times } = readMode(command['mode']));
      names = new Set(Array.isArray(data['failCommands']) ? data['failCommands'] : []);
      client = data['appName'];
      fault = readFault(data);
      const count = entered;
      entered = 0;
      return { count };
    },
    next(name, appName) {
      if (times === 0 || !names.has(name) || (client !== undefined && client !== appName)) return null;
      if (skip > 0) {
        skip -= 1;
        return null;
      }
      times -= 1;
      entered += 1;
      return fault;
    },
  };
}

function readMode(mode: unknown): { skip: number; times: number } {
  if (mode === 'off') return { skip: 0, times: 0 };
  if (mode === 'alwaysOn') return { skip: 0, times: Infinity };
  const counts = isDoc(mode) ? Object.entries(mode) : [];
  if (counts.length === 0 || counts.some(([name, count]) => !['skip', 'times'].includes(name) || typeof count !== 'number'))
    throw new CommandError(2, 'the mode of a fail point is off, alwaysOn, {times: N}, {skip: N} or both counts');
  const { skip = 0, times = Infinity } = Object.fromEntries(counts as [string, number][]);
  return { skip, times };
}

function readFault(data: Doc): Fault {
  const unknown = Object.keys(data).find((field) => !DATA.includes(field));
  if (unknown !== undefined)
    throw new CommandError(115, `The field '${unknown}' of failCommand is not supported by the embedded document store.`);
  const { errorCode, errorLabels, writeConcernError } = data;
  const executes = truthy(data['afterExecution']);
  if (truthy(data['closeConnection'])) return { executes, response: null };
  const labels = errorLabels === undefined ? {} : { errorLabels };
  if (errorCode === undefined)
    return { executes: true, response: { ...(writeConcernError !== undefined && { writeConcernError }), ...labels } };
  const { code, codeName, message } = new CommandError(errorCode as number, "Failing command via 'failCommand' failpoint");
  return { executes, response: { ok: 0, errmsg: message, code, codeName, ...labels } };
}
