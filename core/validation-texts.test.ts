import { expect } from 'chai';
import { validationText, validationTextForUsers } from './validation-texts.ts';

describe('the text of a validation error', () => {
  it('is made from its type and bounds about any subject', () => {
    expect(validationText('max_pages', { type: 'number.maximum', bounds: { limit: 500 } })).to.equal('max_pages must be at most 500.');
    expect(validationText('include', { type: 'array.min_items', bounds: { limit: 1 } })).to.equal('include must have at least 1 item.');
    expect(validationText('min_score', { type: 'type.number', bounds: { nullable: true } })).to.equal(
      'min_score must be a number or null.',
    );
  });

  it('does not mention null to users', () => {
    expect(validationTextForUsers('--min-score', { type: 'type.number', bounds: { nullable: true } })).to.equal(
      '--min-score must be a number.',
    );
    expect(validationTextForUsers('Severity', { type: 'enum', bounds: { allowed: ['a', 'b', null] } })).to.equal(
      'Severity must be one of a, b.',
    );
  });

  it('is null for types that no schema finds, and without the bounds that it needs', () => {
    for (const type of ['url.private_address', 'new', 'toString', 'number.maximum', 'enum'])
      expect(validationText('x', { type })).to.equal(null);
  });
});
