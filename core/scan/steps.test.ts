import { expect } from 'chai';
import { Value } from 'typebox/value';
import { describeStep, fromSnakeStep, kindOfStep, prepareMistake, PrepareStep, SnakeStep, toSnakeStep } from './steps.ts';
import { readSteps } from './steps-text.ts';

describe('steps', () => {
  const steps: [PrepareStep, string][] = [
    [{ goto: '/start' }, 'goto /start'],
    [{ fill: { selector: '#year', value: '1980' } }, 'fill #year with "1980"'],
    [{ click: 'button.adult' }, 'click button.adult'],
    [{ waitFor: 'main' }, 'waitFor main'],
    [{ assert: { text: 'Welcome' } }, 'assert the text "Welcome"'],
    [{ assert: { selector: 'h1' } }, 'assert the element h1'],
  ];
  for (const [step, text] of steps)
    it(`are described and renamed: ${text}`, () => {
      expect(Value.Check(PrepareStep, step)).to.equal(true);
      expect(describeStep(step)).to.equal(text);
      const snake = toSnakeStep(step);
      expect(Value.Check(SnakeStep, snake)).to.equal(true);
      expect(Object.keys(snake)[0]).to.equal(kindOfStep(step) === 'waitFor' ? 'wait_for' : kindOfStep(step));
      expect(fromSnakeStep(snake)).to.deep.equal(step);
    });

  for (const step of [
    {},
    { goto: '/', click: 'a' },
    { press: 'a' },
    { click: '' },
    { assert: {} },
    { assert: { selector: 'a', text: 'b' } },
    { fill: { selector: '#a' } },
    { fill: { selector: '#a', secretKey: 'password' } },
    'click',
  ])
    it(`are not ${JSON.stringify(step)}`, () => expect(Value.Check(PrepareStep, step)).to.equal(false));

  const targets: [goto: string, message: RegExp | null][] = [
    ['/path?a=b', null],
    ['https://www.example.org/', null],
    ['http://age.example.org/gate', null],
    ['https://example.org:8443/', null],
    ['https://example.com/', /leaves the site of the scan, example\.org/],
    ['//example.net/', /leaves the site/],
    ['javascript:alert(1)', /must be a path of the site/],
    ['https://ann:secret@example.org/', /without a user name/],
    ['https://', /must be a path/],
  ];
  for (const [goto, message] of targets)
    it(`that prepare a scan ${message === null ? 'may' : 'may not'} go to ${goto}`, () => {
      const mistake = prepareMistake([{ click: 'a' }, { goto }], new URL('https://example.org/start'));
      if (message === null) return expect(mistake).to.equal(null);
      expect(mistake?.index).to.equal(1);
      return expect(mistake?.message).to.match(message);
    });
});

describe('a list of steps', () => {
  it('is read from YAML and JSON, with the names of manifests or of the HTTP API', () => {
    const steps = [{ click: '.a' }, { wait_for: '.b' }];
    for (const text of ['- click: .a\n- waitFor: .b\n', '- click: .a\n- wait_for: .b', '[{"click": ".a"}, {"waitFor": ".b"}]'])
      expect(readSteps(text)).to.deep.equal({ ok: true, steps });
  });
  for (const text of ['', ' \n', '# nothing yet\n'])
    it(`is empty: ${JSON.stringify(text)}`, () => expect(readSteps(text)).to.deep.equal({ ok: true, steps: [] }));
  for (const [text, message] of [
    ['click: .a', /must be a list/],
    ['- click: [', /not valid YAML: .*line 1/],
    ['- &a {click: .a}\n- *a', /not valid YAML/],
  ] as const)
    it(`is not ${JSON.stringify(text)}`, () => {
      const read = readSteps(text);
      expect(read.ok).to.equal(false);
      expect(!read.ok && read.message)
        .to.match(message)
        .and.not.include('\n');
    });
});
