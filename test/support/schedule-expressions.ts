/** Texts of `spec.schedule`, valid and invalid ones, for comparisons of what refuses them. */
import fc from 'fast-check';

/** A field with values between two numbers. */
function fieldOf(min: number, max: number): fc.Arbitrary<string> {
  const number = fc.integer({ min, max });
  const span = fc.tuple(number, number).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const every = fc.integer({ min: 1, max: max - min });
  return fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom('*', '?') },
    fc.uniqueArray(number, { minLength: 1, maxLength: 4 }).map((values) => values.join(',')),
    span,
    fc.tuple(fc.oneof(fc.constant('*'), number, span), every).map((parts) => parts.join('/')),
    fc.tuple(span, every, number).map(([from, n, more]) => `${from}/${n},${more}`),
  );
}

/** Five valid fields, which may name days that never come. */
export const fiveFields: fc.Arbitrary<string> = fc
  .tuple(fieldOf(0, 59), fieldOf(0, 23), fieldOf(1, 31), fieldOf(1, 12), fieldOf(0, 6))
  .map((fields) => fields.join(' '));

const NAMES = ['jan', 'FEB', 'Dec', 'sun', 'MON', 'Sat', 'fri', 'foo', 'L', 'W', '1#2'];
const value = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 12 }).map(String) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 61 }).map(String) },
  { weight: 2, arbitrary: fc.constantFrom(...NAMES) },
  fc.constantFrom('', '*', '?', '-1', '+5', '007', '00000000012', '1.5', '99999999999999999999'),
);
const range = fc.oneof(
  value,
  fc.tuple(value, value).map((ends) => ends.join('-')),
  fc.constantFrom('*', '?', '1-2-3', '*-5'),
);
const step = fc.oneof(fc.integer({ min: 0, max: 70 }).map(String), fc.constantFrom('', '-1', 'x', '0', '00', '0005', '9999999999'));
const element = fc.oneof(
  { weight: 3, arbitrary: range },
  fc.tuple(range, step).map((parts) => parts.join('/')),
  fc.constant('*/2/2'),
);
const field = fc.array(element, { minLength: 1, maxLength: 3 }).map((elements) => elements.join(','));
const space = fc.constantFrom(' ', ' ', '  ', '\t', '\r\n', '\u00a0', '\v', '');

/** Five fields of which most are `*`, so that a single fault decides. */
const oneField = fc.tuple(fc.nat({ max: 4 }), field).map(([index, text]) => ['*', '*', '*', '*', '*'].with(index, text).join(' '));
const anyFields = fc
  .tuple(space, fc.array(fc.tuple(fc.oneof(fc.constant('*'), field), space), { minLength: 4, maxLength: 6 }))
  .map(([start, parts]) => start + parts.flat().join(''));

const unit = fc.constantFrom('ns', 'us', 'µs', 'μs', 'ms', 's', 'm', 'h', 'd', '');
const amount = fc.constantFrom('0', '1', '59', '60', '.5', '1.', '1.5', '90', '60000', '-1', '2562047', '9999999999999999', '.', '');
const every = fc
  .tuple(
    fc.constantFrom('@every ', '@every', '@every  ', '@every +', '@every -', ' @every '),
    fc.array(fc.tuple(amount, unit), { maxLength: 3 }),
  )
  .map(([prefix, parts]) => prefix + parts.flat().join(''));
const macro = fc.constantFrom('@daily', '@Daily', '@daily ', ' @daily', '@reboot', '@yearly', '@', '@ * * * *', '@every', '@hourly 1h');
const zoned = fc.tuple(fc.constantFrom('TZ=UTC ', 'CRON_TZ=Europe/Berlin ', ' TZ=UTC '), oneField).map((parts) => parts.join(''));

/** A valid expression in which one character was replaced, added or removed. */
const mistyped = fc
  .tuple(fiveFields, fc.nat(), fc.constantFrom(0, 1), fc.constantFrom('', ...' ,-/*?0179@jfLW#\n'))
  .map(([expression, at, length, text]) => {
    const index = at % expression.length;
    return expression.slice(0, index) + text + expression.slice(index + length);
  });

/** Of the length that the definition permits. */
export const scheduleText: fc.Arbitrary<string> = fc
  .oneof(
    { weight: 4, arbitrary: oneField },
    fiveFields,
    { weight: 2, arbitrary: anyFields },
    { weight: 2, arbitrary: mistyped },
    { weight: 2, arbitrary: every },
    macro,
    zoned,
    fc.string({ maxLength: 20 }),
  )
  .filter((text) => text.length >= 1 && text.length <= 256);
