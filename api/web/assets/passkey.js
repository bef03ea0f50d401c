/**
 * Forms that ask the browser for a passkey: `data-passkey` is `create` or `get`, `data-options` is what to ask. The answer goes
 * into the form, which is then sent as any other.
 */
const supported = typeof PublicKeyCredential === 'function' && 'parseCreationOptionsFromJSON' in PublicKeyCredential;

for (const form of document.querySelectorAll('form[data-passkey]')) {
  const button = form.querySelector('button');
  const error = form.querySelector('[data-passkey-error]');
  button.hidden = !supported;
  form.querySelector('[data-passkey-unsupported]').hidden = supported;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    button.disabled = true;
    error.textContent = '';
    ask(form.dataset.passkey, JSON.parse(form.dataset.options))
      .then((credential) => {
        form.querySelector('[name="passkey-password"]').value = JSON.stringify(credential.toJSON());
        // Sends the form without this listener.
        form.submit();
      })
      .catch(({ name }) => {
        error.textContent = name === 'InvalidStateError' ? error.dataset.exists : error.dataset.failed;
        button.disabled = false;
        button.focus();
      });
  });
}

function ask(kind, options) {
  return kind === 'create'
    ? navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
    : navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
}
