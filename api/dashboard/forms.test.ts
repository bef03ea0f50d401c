import { expect } from 'chai';
import type { TSchema } from 'typebox';
import { NewKey } from '../accounts/api-keys.ts';
import { ValidationFailure } from '../http/errors.ts';
import { compileValidator } from '../http/validation.ts';
import { NewWebhook } from '../webhooks/schemas.ts';
import { inLanguageOf } from '../../report/words/current.ts';
import { KEY_FORM } from './settings/api-keys.ts';
import { formErrors, type FormFields } from './forms.ts';
import { WEBHOOK_FORM } from './settings/webhooks.ts';

describe('the errors of a form', () => {
  function errorsOf(schema: TSchema, body: object, fields: FormFields) {
    const { error } = compileValidator({ schema, method: 'POST', url: '/', httpPart: 'body' })(body) as { error?: unknown };
    if (!(error instanceof ValidationFailure)) throw new Error('the body is valid');
    return Object.fromEntries(formErrors(error.items, fields).map(({ field, text }) => [field, text]));
  }

  it('say what to enter in a webhook, or name the label', () => {
    const empty = { name: '', url: 'example.com', events: [], format: 'json', credits_below: 'many' };
    expect(errorsOf(NewWebhook, empty, WEBHOOK_FORM.fields)).to.deep.equal({
      name: 'Enter a name.',
      url: 'Enter an absolute URL, such as https://example.com/hook.',
      events: 'Choose at least one event.',
      credits_below: 'Enter a whole number.',
    });
    const wrong = { name: 'x'.repeat(101), url: 'https://example.com/', events: ['scan.failed', 'other'], format: 'xml', credits_below: 0 };
    const errors = errorsOf(NewWebhook, wrong, WEBHOOK_FORM.fields);
    expect(errors).to.deep.include({ name: 'Name must have at most 100 characters.', credits_below: 'Credits must be at least 1.' });
    expect(errors.events).to.match(/^Events \(item 2\) must be one of scan\.completed, /);
    expect(errors.format).to.equal('Format must be one of json, slack, teams, mattermost.');
  });

  for (const [what, schema, fields] of [
    ['an API key', NewKey, KEY_FORM.fields],
    ['a webhook', NewWebhook, WEBHOOK_FORM.fields],
  ] as const)
    it(`know every field of ${what}`, () => {
      expect(Object.keys(fields)).to.have.members(Object.keys(schema.properties));
    });

  it('name the field in the language of the reader, and mark what the API says as English', () => {
    const [error] = inLanguageOf({ locale: 'de' }, () => formErrors([{ loc: ['body', 'name'], msg: '', type: 'missing_field' }], { name: { label: 'Pages' } })); // prettier-ignore
    expect(String(error!.text)).to.equal('Seiten: <span lang="en">is required.</span>');
  });

  it('have a text of their own for a type', () => {
    const item = { loc: ['body', 'expires_at'], msg: 'expires_at must be in the future.', type: 'date.past' as const };
    expect(formErrors([item], KEY_FORM.fields)).to.deep.equal([{ field: 'expires_at', text: 'Enter a date in the future.' }]);
  });
});
