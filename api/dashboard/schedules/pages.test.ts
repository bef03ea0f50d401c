import { expect } from 'chai';
import { inLanguageOf } from '../../../report/words/current.ts';
import { timesInWords } from './pages.ts';

describe('timesInWords', () => {
  const CASES: [schedule: string, words: string][] = [
    ['5 * * * *', 'Every hour at minute 5'],
    ['0 * * * *', 'Every hour'],
    ['30 2 * * *', 'Every day at 02:30'],
    ['30 2 * * MON-FRI', 'Monday to Friday at 02:30'],
    ['@weekly', 'Every Sunday at 00:00'],
    ['0 0 31 * *', 'Every month on day 31 at 00:00'],
  ];
  for (const [schedule, words] of CASES) it(words, () => expect(timesInWords(schedule)).to.equal(words));

  it('speaks the language of the reader', () =>
    expect(inLanguageOf({ locale: 'de' }, () => timesInWords('0 8 * * 1'))).to.equal('Jeden Montag um 08:00'));

  it('has none for what no form can say', () => expect(timesInWords('0 8,20 * * *')).to.equal(null));
});
