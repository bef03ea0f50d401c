import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { CommandFailed, connect } from './cdp.ts';

describe('a connection to a browser', () => {
  /** A connection whose browser is the test. */
  function connected() {
    const commands = new PassThrough();
    const messages = new PassThrough();
    const connection = connect(commands, messages);
    const sent = (): { id: number; method: string; sessionId?: string }[] =>
      String(commands.read() ?? '')
        .split('\0')
        .filter((text) => text !== '')
        .map((text) => JSON.parse(text) as { id: number; method: string });
    return { ...connection, messages, sent, say: (message: object) => messages.write(`${JSON.stringify(message)}\0`) };
  }
  const attached = (sessionId: string) => ({ method: 'Target.attachedToTarget', params: { sessionId } });
  const detached = (sessionId: string) => ({ method: 'Target.detachedFromTarget', params: { sessionId } });
  const failure = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

  it('resolves each command with its own answer, in any order', async () => {
    const { root, say, sent } = connected();
    const version = root.send('Browser.getVersion');
    const targets = root.send('Target.getTargets');
    const [first, second] = sent();
    say({ id: second!.id, result: { targetInfos: [] } });
    say({ id: first!.id, result: { product: 'Chromium/1' } });
    expect(await targets).to.deep.equal({ targetInfos: [] });
    expect(await version).to.deep.equal({ product: 'Chromium/1' });
  });

  it('rejects a command that the browser does not carry out, and names it', async () => {
    const { root, say, sent } = connected();
    const closing = failure(root.send('Target.closeTarget', { targetId: 'gone' }));
    say({ id: sent()[0]!.id, error: { message: 'No target with given id found' } });
    expect(await closing)
      .to.be.instanceOf(CommandFailed)
      .with.property('message', 'Target.closeTarget: No target with given id found');
  });

  it('reads messages that arrive in parts or together, also if a part ends within a character', async () => {
    const { root, messages } = connected();
    const urls: string[] = [];
    root.on('Page.frameRequestedNavigation', ({ url }) => urls.push(url));
    const bytes = Buffer.from(
      ['/ä', '/€', '/🎉'].map((url) => `${JSON.stringify({ method: 'Page.frameRequestedNavigation', params: { url } })}\0`).join(''),
    );
    for (const cut of [1, 7, bytes.indexOf(0xc3) + 1, bytes.indexOf(0xe2) + 2, bytes.length]) {
      urls.length = 0;
      messages.write(bytes.subarray(0, cut));
      if (cut < bytes.length) messages.write(bytes.subarray(cut));
      await setImmediate();
      expect(urls, `cut after ${cut} bytes`).to.deep.equal(['/ä', '/€', '/🎉']);
    }
  });

  it('keeps the events and commands of sessions apart', async () => {
    const { root, session, say, sent } = connected();
    const crashed: string[] = [];
    say(attached('one'));
    say(attached('two'));
    await setImmediate();
    for (const name of ['one', 'two']) session(name).on('Inspector.targetCrashed', () => crashed.push(name));
    root.on('Inspector.targetCrashed', () => crashed.push('root'));
    say({ method: 'Inspector.targetCrashed', sessionId: 'two' });
    await setImmediate();
    expect(crashed).to.deep.equal(['two']);
    const enabled = session('one').send('Page.enable');
    expect(sent()).to.have.nested.property('[0].sessionId', 'one');
    say({ id: 1, sessionId: 'one', result: {} });
    await enabled;
  });

  it('rejects the commands of a session that is detached, and those that follow', async () => {
    const { session, say } = connected();
    say(attached('frame'));
    await setImmediate();
    const frame = session('frame');
    let closed = 0;
    frame.onClosed(() => (closed += 1));
    const open = failure(frame.send('Page.enable'));
    say(detached('frame'));
    expect(await open).to.be.instanceOf(CommandFailed);
    expect(await failure(frame.send('Page.enable'))).to.be.instanceOf(CommandFailed);
    frame.onClosed(() => (closed += 1));
    expect(closed).to.equal(2);
    // Late messages of the session have no receiver.
    say({ method: 'Inspector.targetCrashed', sessionId: 'frame' });
    await setImmediate();
  });

  it('closes the sessions within a session that is detached, which the browser does not report', async () => {
    const { session, say } = connected();
    say(attached('page'));
    say({ ...attached('frame'), sessionId: 'page' });
    say({ ...attached('nested'), sessionId: 'frame' });
    await setImmediate();
    const closed: string[] = [];
    for (const name of ['page', 'frame', 'nested']) session(name).onClosed(() => closed.push(name));
    say({ ...detached('frame'), sessionId: 'page' });
    await setImmediate();
    expect(closed).to.deep.equal(['nested', 'frame']);
  });

  it('rejects commands to a session that the browser does not know any more, or not yet', async () => {
    const { session, say, sent } = connected();
    say(attached('frame'));
    await setImmediate();
    const sending = failure(session('frame').send('Page.enable'));
    say({ id: sent()[0]!.id, error: { message: 'Session with given id not found.' } });
    expect(await sending)
      .to.be.instanceOf(CommandFailed)
      .with.property('message', 'Page.enable: Session with given id not found.');
    expect(await failure(session('unknown').send('Page.enable'))).to.be.instanceOf(CommandFailed);
  });

  it('rejects all commands when the browser is gone', async () => {
    const { root, session, say, messages } = connected();
    say(attached('page'));
    await setImmediate();
    const open = [root.send('Browser.getVersion'), session('page').send('Page.enable')].map(failure);
    messages.destroy();
    for (const error of await Promise.all(open)) expect(error).to.be.instanceOf(CommandFailed);
    expect(await failure(root.send('Browser.getVersion'))).to.be.instanceOf(CommandFailed);
  });
});
