/** Forms that ask before they are sent: `data-confirm` is the id of their dialog. */
export function enableDialogs(root) {
  for (const form of root.querySelectorAll('form[data-confirm]')) {
    const dialog = document.getElementById(form.dataset.confirm);
    form.addEventListener('submit', (event) => {
      if (event.submitter?.hasAttribute('data-confirmed')) return;
      event.preventDefault();
      dialog.showModal();
      // Not the button that confirms: Enter would do what was not read.
      dialog.querySelector('[data-close]')?.focus();
    });
    for (const button of dialog.querySelectorAll('[data-close]')) button.addEventListener('click', () => dialog.close());
  }
}
