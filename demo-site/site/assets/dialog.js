// Opens the dialog that a button names.
for (const opener of document.querySelectorAll('[data-dialog]'))
  opener.addEventListener('click', () => document.getElementById(opener.dataset.dialog).showModal());
