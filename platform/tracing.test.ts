import { expect } from 'chai';
import fc from 'fast-check';
import { readTraceparent, writeTraceparent } from '../core/protocol/traceparent.ts';
import { NO_TRACER, inSpan } from './tracing.ts';

describe('traceparent', () => {
  const hex = (length: number) => fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length });

  it('survives a round trip', () => {
    fc.assert(
      fc.property(hex(32), hex(16), fc.boolean(), (traceId, spanId, sampled) => {
        fc.pre(!/^0+$/.test(traceId) && !/^0+$/.test(spanId));
        expect(readTraceparent(writeTraceparent({ traceId, spanId, sampled }))).to.deep.equal({ traceId, spanId, sampled });
      }),
    );
  });

  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const span = '00f067aa0ba902b7';
  it('accepts further fields of a later version, and ignores other flags', () => {
    expect(readTraceparent(`01-${trace}-${span}-03-more`)).to.deep.equal({ traceId: trace, spanId: span, sampled: true });
    expect(readTraceparent(`00-${trace}-${span}-02`)?.sampled).to.equal(false);
  });

  for (const text of [
    undefined,
    '',
    'x',
    `ff-${trace}-${span}-01`,
    `00-${trace}-${span}-01-more`,
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `00-${trace.toUpperCase()}-${span}-01`,
    `00-${trace}-${span}-01\n`,
    `00-${trace}-${span}`,
  ])
    it(`is rejected if malformed: ${JSON.stringify(text)}`, () => {
      expect(readTraceparent(text)).to.equal(null);
    });

  it('is undefined if tracing is off, and work runs all the same', async () => {
    expect(NO_TRACER.start('x').traceparent).to.equal(undefined);
    expect(await inSpan(NO_TRACER, 'x', {}, async () => 7)).to.equal(7);
  });
});
