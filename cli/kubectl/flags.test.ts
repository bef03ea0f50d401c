import { expect } from 'chai';
import { splitKubectlFlags } from './flags.ts';

describe("kubectl's options", () => {
  const table: [string, string[], string[], string[]][] = [
    ['may stand before the command', ['-n', 'shop', 'scan', 'u'], ['--namespace=shop'], ['scan', 'u']],
    [
      'may stand among others',
      ['scan', 'u', '--context=a', '--min-score', '9', '-nshop'],
      ['--context=a', '--namespace=shop'],
      ['scan', 'u', '--min-score', '9'],
    ],
    ['may have no value', ['list', '--insecure-skip-tls-verify'], ['--insecure-skip-tls-verify'], ['list']],
    ['stay if their value is missing', ['list', '--context'], [], ['list', '--context']],
    ['end at --', ['scan', '--', '-n', 'shop'], [], ['scan', '--', '-n', 'shop']],
    ['may be repeated', ['list', '--as-group', 'a', '--as-group', 'b'], ['--as-group=a', '--as-group=b'], ['list']],
    ['leave other options alone', ['list', '-o', 'json', '-A'], [], ['list', '-o', 'json', '-A']],
    ['are no letters of -ojson', ['list', '-ojson', '-owide', '-o=json'], [], ['list', '-ojson', '-owide', '-o=json']],
    ['may follow other letters', ['list', '-An', 'shop'], ['--namespace=shop'], ['list', '-A']],
    ['may follow other letters with their value', ['list', '-Anshop', 'x'], ['--namespace=shop'], ['list', '-A', 'x']],
    ['may have a value after =', ['list', '-n=shop', '--as=a=b'], ['--namespace=shop', '--as=a=b'], ['list']],
  ];
  for (const [name, args, flags, rest] of table)
    it(name, () => {
      expect(splitKubectlFlags(args)).to.deep.equal({ flags, rest });
    });
});
