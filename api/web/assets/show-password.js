/** Buttons that show the password of a field: `data-show-password` is its id. They are hidden without scripts. */
for (const button of document.querySelectorAll('[data-show-password]')) {
  const field = document.getElementById(button.dataset.showPassword);
  const texts = { text: button.dataset.hideText, password: button.textContent };
  const show = (type) => {
    field.type = type;
    button.textContent = texts[type];
  };
  button.hidden = false;
  button.addEventListener('click', () => show(field.type === 'password' ? 'text' : 'password'));
  // Browsers keep what was typed in text fields, and offer only passwords to the password manager.
  field.form.addEventListener('submit', () => show('password'));
}
