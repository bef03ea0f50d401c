/**
 * A failover at every command. A recording without faults says which commands a flow sends; then each of them meets each
 * fault, alone and together with the next one. The flow ends as if nothing had happened: at once, or when its caller repeats
 * it. A commit tries some commands, and only what the driver does not repeat by itself. Faults are those of MongoDB's
 * `failCommand`, because a replica set takes seconds for each of its failovers.
 */
import { expect } from 'chai';
import { nightly, someOf } from '../../support/nightly.ts';
import { acceptance, removal, takeover } from './account-flows.ts';
import { grant, settlement } from './credit-flows.ts';
import { startFaultyServer, type FaultKind, type FaultyServer } from './faulty-server.ts';
import { run, type FlowOf, type Run } from './flow.ts';
import { issue, revoke } from './key-flows.ts';
import { mail } from './mail-flow.ts';
import { submissionThenSweep, sweepThenSubmission } from './submission-flow.ts';
import { rotation } from './webhook-flow.ts';

const FLOWS: Readonly<Record<string, FlowOf>> = {
  'a submission, repeated before the sweeper': submissionThenSweep,
  'a submission, repeated after the sweeper': sweepThenSubmission,
  'a settlement': settlement,
  'a grant': grant,
  'a new key': issue,
  'a revoked key': revoke,
  'a mail': mail,
  'a replaced secret of a webhook': rotation,
  'an accepted invitation': acceptance,
  'the removal of a member': removal,
  'an account that goes to the owner of its address': takeover,
};

/** Of each flow and fault, a commit tries so many positions. */
const POSITIONS = 3;
const WRITES = ['insert', 'update', 'findAndModify', 'delete'];
const ALL = [...WRITES, 'find', 'aggregate', 'count', 'distinct', 'getMore'];
const errorLabels = ['RetryableWriteError'];

const KINDS: Readonly<Record<string, FaultKind>> = {
  'a server that is not the primary': { data: { errorCode: 10107, errorLabels }, commands: ALL },
  'a connection that breaks before the command': { data: { closeConnection: true }, commands: ALL },
  'a connection that breaks after the command': { data: { closeConnection: true, afterExecution: true }, commands: ALL },
  'a write that no majority acknowledges': {
    data: { writeConcernError: { code: 189, errmsg: 'primary stepped down' }, errorLabels },
    commands: WRITES,
  },
};

for (const replicaSet of nightly([true], [true, false]))
  describe(`every command of a flow, ${replicaSet ? 'in a replica set' : 'on a standalone server'}`, () => {
    let server: FaultyServer;
    const recordings = new Map<FlowOf, Run>();
    before(async () => {
      server = await startFaultyServer({ replicaSet });
    });
    after(() => server.close());

    async function recordingOf(flow: FlowOf): Promise<Run> {
      const recording = recordings.get(flow) ?? (await run(server, flow, null));
      recordings.set(flow, recording);
      return recording;
    }

    for (const [name, flow] of Object.entries(FLOWS)) {
      it(`${name} sends only commands that the faults cover`, async () => {
        const { commands, attempts } = await recordingOf(flow);
        expect(attempts).to.equal(1);
        expect(commands.filter((command) => !ALL.includes(command))).to.deep.equal([]);
      });

      for (const [fault, kind] of Object.entries(KINDS))
        // The driver repeats a command once in a replica set only.
        for (const times of replicaSet ? nightly([2], [1, 2]) : [1])
          it(`${name} meets ${fault}, ${times === 1 ? 'once' : 'twice'}`, async () => {
            const recording = await recordingOf(flow);
            const targets = recording.commands.filter((command) => kind.commands.includes(command));
            expect(targets).to.not.deep.equal([]);
            for (const [index, command] of someOf([...targets.entries()], POSITIONS)) {
              const where = `${command}, number ${index + 1} of ${targets.join(', ')}`;
              const { end, attempts, failed } = await run(server, flow, { kind, index, times });
              expect(failed, where).to.be.within(1, times);
              expect(end, where).to.deep.equal(recording.end);
              // The driver repeats a command once.
              if (replicaSet && times === 1) expect(attempts, where).to.equal(1);
            }
          });
    }
  });
